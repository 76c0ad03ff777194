import type { Partition } from '../plant/position.ts'
import { type Checkpoint, checkpointAt } from '../protocol/checkpoint.ts'
import type { PlantCreated } from './plant-created-event.ts'
import { eventOf, type ParkedRecord, type PlantRecord, parkedOf } from './plant-record.ts'

/**
 * What handlers are given at once: events, or one parked record. With `checkpoint` all up to the last of them is
 * dealt with, what no handler is given included.
 */
export type Lot = { events: PlantCreated[]; parked?: ParkedRecord; checkpoint: Checkpoint }

/**
 * Divides records of a partition, in log order, into lots of at most `maxEvents`. Those behind the last lot are for no
 * handler. With `giveParked` parked records are lots of their own.
 */
export function* lotsOf(
  records: readonly PlantRecord[],
  partition: Partition,
  isCreation: (record: PlantRecord) => boolean,
  { maxEvents, giveParked }: { maxEvents: number; giveParked: boolean },
): Generator<Lot> {
  let events: PlantCreated[] = []
  let last: Checkpoint | undefined
  for (const record of records) {
    const event = isCreation(record) ? eventOf(record, partition) : undefined
    const isGivenParked = giveParked && record.parked !== undefined
    if (last !== undefined && events.length > 0 && (isGivenParked || events.length === maxEvents)) {
      yield { events, checkpoint: last }
      events = []
    }
    const checkpoint = checkpointAt(record.offset, [record])
    if (isGivenParked) yield { events: [], parked: parkedOf(record, partition), checkpoint }
    if (event !== undefined) events.push(event)
    if (event !== undefined) last = checkpoint
  }
  if (last !== undefined && events.length > 0) yield { events, checkpoint: last }
}
