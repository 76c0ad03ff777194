import type { Partition } from '../plant/position.ts'
import { type Checkpoint, checkpointAt } from '../protocol/checkpoint.ts'
import { eventOf, type ParkedRecord, type PlantCreated, type PlantRecord, parkedOf } from './plant-record.ts'

/**
 * The input of one handler call: events, or one parked record. `checkpoint` is the position of the last of them; all
 * records up to there are processed with it, including those that no handler receives.
 */
export type Batch = { events: PlantCreated[]; parked?: ParkedRecord; checkpoint: Checkpoint }

/**
 * Divides records of a partition, in log order, into batches of at most `maxEvents`. No handler receives the records
 * after the last batch. With `deliverParked`, each parked record is a separate batch.
 */
export function* batchesOf(
  records: readonly PlantRecord[],
  partition: Partition,
  isCreation: (record: PlantRecord) => boolean,
  { maxEvents, deliverParked }: { maxEvents: number; deliverParked: boolean },
): Generator<Batch> {
  let events: PlantCreated[] = []
  let last: Checkpoint | undefined
  for (const record of records) {
    const event = isCreation(record) ? eventOf(record, partition) : undefined
    const isDeliveredParked = deliverParked && record.parked !== undefined
    if (last !== undefined && events.length > 0 && (isDeliveredParked || events.length === maxEvents)) {
      yield { events, checkpoint: last }
      events = []
    }
    const checkpoint = checkpointAt(record.offset, [record])
    if (isDeliveredParked) yield { events: [], parked: parkedOf(record, partition), checkpoint }
    if (event !== undefined) events.push(event)
    if (event !== undefined) last = checkpoint
  }
  if (last !== undefined && events.length > 0) yield { events, checkpoint: last }
}
