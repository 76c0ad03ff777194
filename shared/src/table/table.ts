import { createAppender } from '../event-log/append.ts'
import { readLatestRows } from '../event-log/latest-rows.ts'
import { type Range, replay } from '../event-log/replay.ts'
import { WRITE_TABLE_ANEW } from '../event-log/topic.ts'
import { EntryError } from '../plant/entry.ts'
import { type Claim, type LogRecord, type NewRecord, recordReader } from '../plant/plant-created.ts'
import type { Row } from '../plant/plant-stored.ts'
import { after, type Partition } from '../plant/position.ts'
import { type Checkpoint, checkpointBefore } from '../protocol/checkpoint.ts'
import { rowsOf } from '../protocol/plants-table.ts'
import type { PartitionLookUp } from '../read-model/look-up.ts'
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
  readModel: Pick<ReadModel, 'lookUp'>
  /** Reads the row that was created last, of each of these partitions that has rows. */
  latestRows(partitions: readonly Partition[], signal: AbortSignal): Promise<Map<Partition, Row>>
  /** Resolves when the table has the records. After a rejection it may have any of them. */
  append(records: readonly NewRecord[]): Promise<unknown>
  readLog(ranges: Ranges, onRecords: OnRecords, signal: AbortSignal): Promise<void>
}

/** The table of these stores in Kafka. `close` ends the producer. */
export function openTable(
  { kafka, topic, partitions, source, readModel }: Stores,
  table: string,
  { tableId }: Pick<StartState, 'tableId'>,
  common: { log: Log; time: Time },
): TableStores & { close(): Promise<void> } {
  const { append, close } = createAppender(kafka, table, tableId)
  return {
    ...{ source, readModel, append, close },
    latestRows: (wanted, signal) => readLatestRows({ kafka, table, partitions, signal, ...common }, wanted),
    readLog: (ranges, onRecords, signal) =>
      replay({
        ...{ kafka, topic, partitions, ranges, onRecords, signal, remedy: REMEDY, ...common },
        read: recordReader(partitions),
      }),
  }
}

/** Throws a PreconditionError unless the log holds the creations of these rows. `readLog` reads ranges of the log. */
export async function assertRowsOfLog(
  rows: ReadonlyMap<Partition, Row>,
  readLog: (ranges: Ranges, onRecords: OnRecords) => Promise<void>,
): Promise<void> {
  const found = new Map<Partition, LogRecord>()
  const rangeOf = ({ offset }: Row): Range => ({ from: checkpointBefore(offset), end: after(offset) })
  const ranges = new Map([...rows].map(([partition, row]) => [partition, rangeOf(row)]))
  if (ranges.size === 0) return
  await readLog(ranges, async (partition, records) => {
    for (const record of records) found.set(partition, record)
  })
  for (const [partition, row] of rows) {
    const { offset, claim } = found.get(partition) ?? {}
    if (offset !== row.offset || claim?.eventId !== row.eventId) {
      throw new PreconditionError(
        `the table was written from another log: offset ${row.offset} of partition ${partition} does not hold event ` +
          `${row.eventId}: ${WRITE_TABLE_ANEW}`,
        'another-log',
      )
    }
  }
}

export type PartitionClaims = { partition: Partition; claims: readonly Claim[] }

/** Asks the read model in one round trip which of these claims are rows; `why` says why it does not know. */
export async function lookUpRows(readModel: Pick<ReadModel, 'lookUp'>, asked: readonly PartitionClaims[]) {
  const lookUps = await readModel.lookUp(
    asked.map(({ partition, claims }) => ({ partition, ids: claims.map(({ id }) => id) })),
  )
  return asked.map(({ partition, claims }, index) => {
    const { checkpoint, entries } = lookUps[index] as PartitionLookUp
    const unreadable = entries.find((entry) => entry instanceof EntryError)
    if (unreadable !== undefined)
      return { partition, rows: undefined, why: `${unreadable.message}: run plantctl rebuild` }
    const rows = rowsOf(claims, { checkpoint, entries: entries as (Claim | undefined)[] })
    return rows === undefined ? { partition, rows, why: BEHIND } : { partition, rows }
  })
}
