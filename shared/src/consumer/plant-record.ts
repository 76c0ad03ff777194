import type { FetchedRecord } from '../event-log/follow.ts'
import type { EventId } from '../plant/event-id.ts'
import type { Plant, PlantId } from '../plant/plant.ts'
import {
  type LogRecord,
  reasonName,
  recordReader,
  type StoredRecord,
  type Traceparent,
} from '../plant/plant-created.ts'
import type { Offset, Partition } from '../plant/position.ts'
import { traceparentIn } from '../tracing/traceparent.ts'

/** A plant was created: the first claim of its id in the log. */
export type PlantCreated = Plant & {
  /** Any int64, exact. */
  id: PlantId
  eventId: EventId
  /**
   * The timestamp of the record, or the nearest time that a Date can have. For people: clocks differ, and the order of
   * the log is the order of offsets.
   */
  time: Date
  partition: Partition
  offset: Offset
  /** The position of the request in a distributed trace, if the request had one. */
  traceparent?: Traceparent
}

/** A plant of the table. Partition and offset are the position of its creation in the log. */
export type TablePlant = Plant & Pick<PlantCreated, 'id' | 'eventId' | 'partition' | 'offset'>

/** A record that is not an event of a plant, or whose plant this release cannot read. */
export type ParkedRecord = {
  /** Why: otherType, badKey, wrongPartition, badEventId, unknownVersion or unreadablePayload. */
  reason: string
  partition: Partition
  offset: Offset
  /** The id that the record claims although it cannot be read. Later claims of the id are void. */
  id?: PlantId
  eventId?: EventId
  key: StoredRecord['key']
  value: StoredRecord['value']
  headers: StoredRecord['headers']
}

/** A record as the protocol sees it, and as the log stores it. */
export type PlantRecord = LogRecord & { stored: FetchedRecord }

/** A reader of the records of a topic with this number of partitions. */
export function plantRecordReader(partitions: number) {
  const read = recordReader(partitions)
  return (stored: FetchedRecord, partition: Partition): PlantRecord => ({
    ...read(stored, partition),
    stored,
  })
}

/** The limit of a Date, in both directions. Kafka accepts any int64 as a timestamp. */
const MAX_DATE_MS = 8.64e15

/** The event of a claim; undefined when its plant cannot be read. */
export function eventOf({ claim, stored }: PlantRecord, partition: Partition): PlantCreated | undefined {
  if (claim?.plant === undefined) return undefined
  const { id, eventId, offset, plant } = claim
  const traceparent = traceparentIn(stored)
  const time = new Date(Math.min(MAX_DATE_MS, Math.max(-MAX_DATE_MS, stored.timestampMs)))
  return { id, ...plant, eventId, time, partition, offset, ...(traceparent !== undefined && { traceparent }) }
}

export function parkedOf({ claim, parked, stored }: PlantRecord, partition: Partition): ParkedRecord {
  const { offset, key, value, headers } = stored
  const claimed = claim === undefined ? {} : { id: claim.id, eventId: claim.eventId }
  return { reason: reasonName(parked ?? 0), partition, offset, ...claimed, key, value, headers }
}
