import { type Row, type TableRecord, tableRecordReader } from '../plant/plant-stored.ts'
import { after, FIRST, type Partition } from '../plant/position.ts'
import { checkpointBefore } from '../protocol/checkpoint.ts'
import { laterRow } from '../protocol/plants-table.ts'
import type { Log } from '../runtime/log.ts'
import { systemTime } from '../runtime/time.ts'
import { NoLeader } from './broker-errors.ts'
import type { Kafka } from './connection.ts'
import { type Range, replay } from './replay.ts'
import { readKnownEnds, TABLE } from './topic.ts'

/** The records at the end of a partition that are read first. Without a row among them, twice as many are read. */
const FIRST_RECORDS = 256

export type TableSource = {
  kafka: Kafka
  table: string
  partitions: number
  log: Log
  signal: AbortSignal
}

/**
 * Of each of these partitions of the table, the row of the latest creation among its last records; none of a partition
 * without rows. Rejects as `replay`, and while one of them has no leader.
 */
export async function readLatestRows(source: TableSource, wanted: readonly Partition[]): Promise<Map<Partition, Row>> {
  const latest = await readKnownLatestRows(source, wanted)
  const unknown = wanted.find((partition) => !latest.has(partition))
  if (unknown !== undefined) throw new NoLeader(`partition ${unknown} of ${source.table} has no leader`)
  return new Map([...latest].flatMap(([partition, row]): [Partition, Row][] => (row ? [[partition, row]] : [])))
}

/**
 * As `readLatestRows`, with undefined for a partition without rows. Leaves out partitions without a leader. Rows may
 * repeat, so the last record need not be the latest one.
 */
export async function readKnownLatestRows(
  { kafka, table, partitions, log, signal }: TableSource,
  wanted: readonly Partition[],
): Promise<Map<Partition, Row | undefined>> {
  const ends = () => readKnownEnds(kafka, table, TABLE.lost)
  const until = (await ends()).ends
  const endOf = (partition: Partition) => until[partition] ?? FIRST
  const latest = new Map<Partition, Row | undefined>()
  for (const partition of wanted) if (until[partition] === FIRST) latest.set(partition, undefined)
  let missing = wanted.filter((partition) => endOf(partition) > FIRST)
  for (let records = FIRST_RECORDS; missing.length > 0; records *= 2) {
    const beginOf = (partition: Partition) => Math.max(FIRST, endOf(partition) - records)
    const rows = new Map<Partition, Row>()
    const ranges = missing.map((p): [Partition, Range] => [p, { from: checkpointBefore(beginOf(p)), end: endOf(p) }])
    missing = []
    await replay<TableRecord>({
      ...{ kafka, topic: table, partitions, log, time: systemTime, signal, ends, leavesOutLeaderless: true },
      read: tableRecordReader(partitions),
      ranges: new Map(ranges),
      onRecords(partition, read, reached) {
        for (const { row } of read) if (row !== undefined) rows.set(partition, laterRow(rows.get(partition), row))
        if (after(reached.offset) < endOf(partition)) return
        if (rows.has(partition) || beginOf(partition) === FIRST) latest.set(partition, rows.get(partition))
        else missing.push(partition)
      },
    })
  }
  return latest
}
