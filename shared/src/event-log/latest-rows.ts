import { type Row, type TableRecord, tableRecordReader } from '../plant/plant-stored.ts'
import { FIRST, type Partition } from '../plant/position.ts'
import { checkpointBefore } from '../protocol/checkpoint.ts'
import { laterRow } from '../protocol/plants-table.ts'
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
 * Of each of these partitions of the table, the row of the latest creation among its last records; none of a partition
 * without rows. Rows may repeat, so the last record need not be the latest one. Rejects as `replay`.
 */
export async function readLatestRows(
  { kafka, table, partitions, log, time, signal }: TableSource,
  wanted: readonly Partition[],
): Promise<Map<Partition, Row>> {
  const ends = () => readEnds(kafka, table, TABLE.lost)
  const until = (await ends()).ends
  const latest = new Map<Partition, Row>()
  const endOf = (partition: Partition) => until[partition] ?? FIRST
  let missing = wanted.filter((partition) => endOf(partition) > FIRST)
  for (let records = FIRST_RECORDS; missing.length > 0; records *= 2) {
    const beginOf = (partition: Partition) => Math.max(FIRST, endOf(partition) - records)
    await replay<TableRecord>({
      ...{ kafka, topic: table, partitions, log, time, signal, ends },
      read: tableRecordReader(partitions),
      ranges: new Map(
        missing.map((p): [Partition, Range] => [p, { from: checkpointBefore(beginOf(p)), end: endOf(p) }]),
      ),
      onRecords(partition, read) {
        for (const { row } of read) if (row !== undefined) latest.set(partition, laterRow(latest.get(partition), row))
      },
    })
    missing = missing.filter((partition) => !latest.has(partition) && beginOf(partition) > FIRST)
  }
  return latest
}
