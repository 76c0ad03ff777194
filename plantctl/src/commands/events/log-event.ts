import type { FetchedRecord } from '@plant-store/shared/event-log/follow.ts'
import { type LogRecord, readRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'

/** A record of the log as the protocol sees it, and as it lies there. */
export type LogEvent = LogRecord & { partition: Partition; stored: FetchedRecord }

/** Reads the records of a topic that has so many partitions. */
export function eventReader(partitions: number) {
  return (stored: FetchedRecord, partition: Partition): LogEvent => ({
    ...readRecord(stored, partition, partitions),
    partition,
    stored,
  })
}
