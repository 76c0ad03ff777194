import { type Appender, createAppender } from '../event-log/append.ts'
import { readKnownLatestRows } from '../event-log/latest-rows.ts'
import { type Range, replay } from '../event-log/replay.ts'
import { WRITE_TABLE_ANEW } from '../event-log/topic.ts'
import { EntryError } from '../plant/entry.ts'
import { type Claim, type LogRecord, recordReader } from '../plant/plant-created.ts'
import type { Row } from '../plant/plant-stored.ts'
import { after, type Partition } from '../plant/position.ts'
import { type Checkpoint, checkpointBefore } from '../protocol/checkpoint.ts'
import { rowsOf } from '../protocol/plants-table.ts'
import type { ReadModel } from '../read-model/read-model.ts'
import { PreconditionError } from '../runtime/failures.ts'
import type { Log } from '../runtime/log.ts'
import type { Time } from '../runtime/time.ts'
import type { Stores } from '../stores/open-stores.ts'
import type { StartState } from '../stores/preconditions.ts'

const REMEDY = `this is not the log that the table was written from: ${WRITE_TABLE_ANEW}`
const BEHIND = 'the read model does not have all of its claims yet'

type Ranges = ReadonlyMap<Partition, Range>
type OnRecords = (partition: Partition, records: readonly LogRecord[], reached: Checkpoint) => Promise<void>

/** The table, and the log that it is written from. */
export type TableStores = {
  source: string
  readModel: Pick<ReadModel, 'lookUpEach'>
  /** Reads the row of each partition that was created last; undefined without rows. Leaves out what has no leader. */
  latestRows(partitions: readonly Partition[], signal: AbortSignal): Promise<Map<Partition, Row | undefined>>
  appendEach: Appender['appendEach']
  leaderOf: Appender['leaderOf']
  /** Reads ranges of the log, as replay.ts does. Leaves out partitions without a leader. */
  readLog(ranges: Ranges, onRecords: OnRecords, signal: AbortSignal): Promise<void>
}

/** The table of these stores in Kafka. `close` ends the producer. */
export function openTable(
  { kafka, topic, partitions, source, readModel }: Stores,
  table: string,
  { tableId }: Pick<StartState, 'tableId'>,
  common: { log: Log; time: Time },
): TableStores & Pick<Appender, 'throttling' | 'close'> {
  const { appendEach, leaderOf, throttling, close } = createAppender(kafka, table, tableId)
  return {
    ...{ source, readModel, appendEach, leaderOf, throttling, close },
    latestRows: (wanted, signal) => readKnownLatestRows({ kafka, table, partitions, signal, log: common.log }, wanted),
    readLog: (ranges, onRecords, signal) =>
      replay({
        ...{ kafka, topic, partitions, ranges, onRecords, signal, remedy: REMEDY, ...common },
        ...{ read: recordReader(partitions), leavesOutLeaderless: true },
      }),
  }
}

/**
 * The latest rows of partitions, without those of partitions that `readLog` leaves out. Throws a PreconditionError when
 * the log does not hold the creation of one of them. `readLog` reads ranges of the log.
 */
export async function rowsOfLog<R extends Row | undefined>(
  rows: ReadonlyMap<Partition, R>,
  readLog: (ranges: Ranges, onRecords: OnRecords) => Promise<void>,
): Promise<Map<Partition, R>> {
  const found = new Map<Partition, R>()
  const ranges = new Map<Partition, Range>()
  for (const [partition, row] of rows) {
    if (row === undefined) found.set(partition, row)
    else ranges.set(partition, { from: checkpointBefore(row.offset), end: after(row.offset) })
  }
  if (ranges.size === 0) return found
  await readLog(ranges, async (partition, records, reached) => {
    const row = rows.get(partition)
    if (row === undefined || reached.offset < row.offset) return
    const { offset, claim } = records.at(-1) ?? {}
    if (offset !== row.offset || claim?.eventId !== row.eventId) {
      throw new PreconditionError(
        `the table was written from another log: offset ${row.offset} of partition ${partition} does not hold event ` +
          `${row.eventId}: ${WRITE_TABLE_ANEW}`,
        'another-log',
      )
    }
    found.set(partition, row)
  })
  return found
}

export type PartitionClaims = { partition: Partition; claims: readonly Claim[] }
export type PartitionRows = { rows: Row[] } | { rows: undefined; why: string }

/**
 * Asks the read model in one round trip which of these claims are rows, with a promise for each partition; `why` says
 * why it does not know.
 */
export function lookUpRows(
  readModel: Pick<ReadModel, 'lookUpEach'>,
  asked: readonly PartitionClaims[],
): Promise<PartitionRows>[] {
  const lookUps = readModel.lookUpEach(
    asked.map(({ partition, claims }) => ({ partition, ids: claims.map(({ id }) => id) })),
  )
  return lookUps.map(async (lookUp, index) => {
    const { checkpoint, entries } = await lookUp
    const unreadable = entries.find((entry) => entry instanceof EntryError)
    if (unreadable !== undefined) return { rows: undefined, why: `${unreadable.message}: run plantctl rebuild` }
    const { claims } = asked[index] as PartitionClaims
    const rows = rowsOf(claims, { checkpoint, entries: entries as (Claim | undefined)[] })
    return rows === undefined ? { rows, why: BEHIND } : { rows }
  })
}
