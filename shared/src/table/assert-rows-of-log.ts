import type { Range } from '../event-log/replay.ts'
import type { LogRecord } from '../plant/plant-created.ts'
import type { Row } from '../plant/plant-stored.ts'
import { after, type Partition } from '../plant/position.ts'
import { checkpointBefore } from '../protocol/checkpoint.ts'
import { PreconditionError } from '../runtime/failures.ts'

/** What to do about a table that was written from another log. */
export const ANOTHER_LOG_REMEDY =
  'Stop the projectors, delete the topic of the table and create it again, or set PLANTS_TABLE to another one'

/** Throws a PreconditionError unless the log holds the creations of these rows. `readLog` reads ranges of the log. */
export async function assertRowsOfLog(
  rows: ReadonlyMap<Partition, Row>,
  readLog: (
    ranges: ReadonlyMap<Partition, Range>,
    onRecords: (partition: Partition, records: readonly LogRecord[]) => Promise<void>,
  ) => Promise<void>,
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
          `${row.eventId}. ${ANOTHER_LOG_REMEDY}`,
        'another-log',
      )
    }
  }
}
