import { type Row, type TableRecord, tableRecordReader } from '../plant/plant-stored.ts'
import { FIRST, type Offset, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import type { Log } from '../runtime/log.ts'
import type { Time } from '../runtime/time.ts'
import type { Kafka } from './connection.ts'
import { type Range, replay } from './replay.ts'
import { readEnds, TABLE } from './topic.ts'

/** The records at the end of a partition that are read first. Without a row among them, twice as many are read. */
const FIRST_RECORDS = 256

export type TableSource = {
  kafka: Kafka
  table: string
  partitions: number
  log: Log
  time: Time
  signal: AbortSignal
}

/**
 * The rows among the newest records of these partitions of the table, at least one of each partition that has any.
 * Rejects as `replay`.
 */
export async function readNewestRows(
  { kafka, table, partitions, log, time, signal }: TableSource,
  wanted: readonly Partition[],
): Promise<Map<Partition, Row[]>> {
  const ends = () => readEnds(kafka, table, TABLE.lost)
  const until = (await ends()).ends
  const found = new Map(wanted.map((partition): [Partition, Row[]] => [partition, []]))
  const endOf = (partition: Partition) => until[partition] ?? FIRST
  let missing = wanted.filter((partition) => endOf(partition) > FIRST)
  for (let records = FIRST_RECORDS; missing.length > 0; records *= 2) {
    const beginOf = (partition: Partition) => Math.max(FIRST, endOf(partition) - records)
    await replay<TableRecord>({
      ...{ kafka, topic: table, partitions, log, time, signal, ends },
      read: tableRecordReader(partitions),
      ranges: new Map(missing.map((p): [Partition, Range] => [p, { from: before(beginOf(p)), end: endOf(p) }])),
      onRecords(partition, read) {
        found.get(partition)?.push(...read.flatMap(({ row }) => (row === undefined ? [] : [row])))
      },
    })
    missing = missing.filter((partition) => found.get(partition)?.length === 0 && beginOf(partition) > FIRST)
  }
  return found
}

const before = (offset: number): Checkpoint => ({ offset: (offset - 1) as Offset, eventId: '' })
