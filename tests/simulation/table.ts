import { isDeepStrictEqual } from 'node:util'
import { DEFAULT_SOURCE, type NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import { type Row, tableRecordReader } from '@plant-store/shared/plant/plant-stored.ts'
import { after, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { laterRow } from '@plant-store/shared/protocol/plants-table.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { TableStores } from '@plant-store/shared/table/table.ts'
import type { Brokers } from './brokers.ts'
import type { SimulatedProcess } from './clock.ts'
import { ALL, type Log, PARTITIONS } from './kafka.ts'
import type { Network } from './network.ts'
import { firstsOf, winnerOf } from './oracle.ts'
import type { Random } from './random.ts'

const MAX_RECORDS = 5
const MAX_LAST_ROWS = 3

export type Table = ReturnType<typeof createTable>

/** The topic of the table, and the guarantees of its rows. */
export function createTable(log: Log, random: Random, broken: (guarantee: string) => void) {
  const read = tableRecordReader(PARTITIONS)
  const rows = ALL.map((): Row[] => [])
  const rowsIn = (partition: Partition) => rows[partition] as Row[]

  /** The offsets of the plants of a partition, created before this offset, that have no row. */
  function missing(partition: Partition, before: Offset): Offset[] {
    const written = new Set(rowsIn(partition).map(({ offset }) => offset))
    return firstsOf(log, partition)
      .filter(({ plant, offset }) => plant !== undefined && offset < before && !written.has(offset))
      .map(({ offset }) => offset)
  }

  function faultOf(row: Row, partition: Partition): string | undefined {
    const winner = winnerOf(log, row.id)
    if (winner?.partition !== partition || winner.offset !== row.offset || winner.eventId !== row.eventId)
      return `the table has a row of plant ${row.id} that is not its creation`
    if (!isDeepStrictEqual(winner.plant, row.plant)) return `the table has another plant ${row.id} than the log`
    const [left] = missing(partition, row.offset)
    return left === undefined ? undefined : `row ${partition}-${row.offset} is in the table before ${partition}-${left}`
  }

  return {
    append({ partition, key, value, headers }: NewRecord): void {
      const { row } = read({ offset: FIRST, key, value, headers }, partition)
      const fault = row === undefined ? 'the table has a record that is no row' : faultOf(row, partition)
      if (fault !== undefined) broken(fault)
      if (row !== undefined) rowsIn(partition).push(row)
    },

    /** The latest of some rows at the end of a partition. */
    latest: (partition: Partition): Row | undefined =>
      rowsIn(partition)
        .slice(-1 - random.below(MAX_LAST_ROWS))
        .reduce(laterRow, undefined),

    /** True if each readable plant of the log has a row. */
    isComplete: (): boolean => ALL.every((p) => missing(p, log.end(p)).length === 0),
  }
}

/** The table and the log for the writer in one process: each call goes over the network. */
export function connectTable(
  process: SimulatedProcess,
  { log, brokers, network, table }: { log: Log; brokers: Brokers; network: Network; table: Table },
  readModel: Pick<ReadModel, 'lookUpEach'>,
): TableStores {
  return {
    source: DEFAULT_SOURCE,
    readModel,
    leaderOf: Number,

    latestRows: (wanted) =>
      network.call(
        process,
        'reading of the latest rows',
        () => new Map(wanted.map((partition) => [partition, table.latest(partition)])),
      ),

    /** Each partition has another leader. */
    async appendEach(records) {
      const failures = new Map<Partition, Error>()
      const appends = [...Map.groupBy(records, ({ partition }) => partition)].map(async ([partition, batch]) => {
        const append = () => {
          for (const record of batch) table.append(record)
        }
        try {
          await network.call(process, `append of ${batch.length} rows to ${partition}`, append)
        } catch (error) {
          failures.set(partition, error as Error)
        }
      })
      await Promise.all(appends)
      return failures
    },

    async readLog(ranges, onRecords) {
      for (const [partition, { from, end }] of ranges) {
        if (brokers.ends()[partition] === undefined) continue
        for (let { offset } = from; after(offset) < end; ) {
          const fetch = () => log.fetch(partition, after(offset), MAX_RECORDS)
          const delivery = await network.call(process, `replay of ${partition} after ${offset}`, fetch)
          if (delivery === undefined) throw new Error('the log is shorter')
          const isLast = after(delivery.last) >= end
          const records = delivery.records.filter((record) => record.offset < end)
          offset = isLast ? ((end - 1) as Offset) : delivery.last
          await onRecords(partition, records, checkpointAt(offset, records))
        }
      }
    },
  }
}
