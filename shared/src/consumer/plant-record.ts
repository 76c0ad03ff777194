import type { FetchedRecord } from '../event-log/follow.ts'
import type { EventId } from '../plant/event-id.ts'
import type { PlantId } from '../plant/plant.ts'
import {
  type LogRecord,
  parseTraceparent,
  reasonName,
  recordReader,
  type StoredRecord,
  type Traceparent,
} from '../plant/plant-created.ts'
import type { Offset, Partition } from '../plant/position.ts'
import type { PlantCreated } from './plant-created-event.ts'

/** A record as it was read, and as it lies in the log. */
export type PlantRecord = LogRecord & { stored: FetchedRecord }

/** A record that is no event of a plant, or whose plant this release can't read. */
export type ParkedRecord = {
  /** Why: otherType, badKey, wrongPartition, badEventId, unknownVersion or unreadablePayload. */
  reason: string
  partition: Partition
  offset: Offset
  /** The id that it claims all the same; other claims of it are void. */
  id?: PlantId
  eventId?: EventId
  key: StoredRecord['key']
  value: StoredRecord['value']
  headers: StoredRecord['headers']
}

/** Reads the records of a topic that has so many partitions. */
export function plantRecordReader(partitions: number) {
  const read = recordReader(partitions)
  return (stored: FetchedRecord, partition: Partition): PlantRecord => ({
    ...read(stored, partition),
    stored,
  })
}

/** What a claim says, if it can be read. */
export function eventOf({ claim, stored }: PlantRecord, partition: Partition): PlantCreated | undefined {
  if (claim?.plant === undefined) return undefined
  const { id, eventId, offset, plant } = claim
  const traceparent = traceparentOf(stored)
  const time = new Date(stored.timestampMs)
  return { id, ...plant, eventId, time, partition, offset, ...(traceparent !== undefined && { traceparent }) }
}

export function parkedOf({ claim, parked, stored }: PlantRecord, partition: Partition): ParkedRecord {
  const { offset, key, value, headers } = stored
  const claimed = claim === undefined ? {} : { id: claim.id, eventId: claim.eventId }
  return { reason: reasonName(parked ?? 0), partition, offset, ...claimed, key, value, headers }
}

function traceparentOf({ headers: { traceparent } }: FetchedRecord): Traceparent | undefined {
  return Buffer.isBuffer(traceparent) ? parseTraceparent(traceparent.toString('latin1')) : undefined
}
