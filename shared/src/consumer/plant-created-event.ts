import type { EventId } from '../plant/event-id.ts'
import type { Plant, PlantId } from '../plant/plant.ts'
import type { Traceparent } from '../plant/plant-created.ts'
import type { Offset, Partition } from '../plant/position.ts'

/** A plant was created: the first claim of its id in the log. */
export type PlantCreated = Plant & {
  /** Any int64, exact. */
  id: PlantId
  eventId: EventId
  /** The record's timestamp. For people: clocks differ, the order of the log is that of its offsets. */
  time: Date
  partition: Partition
  offset: Offset
  /** Where the request stood in a distributed trace, if it brought one. */
  traceparent?: Traceparent
}
