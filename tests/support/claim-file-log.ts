import type { EventId } from '../../shared/src/plant/event-id.ts'
import type { PlantId } from '../../shared/src/plant/plant.ts'
import type { LogRecord } from '../../shared/src/plant/plant-created.ts'
import type { Offset, Partition } from '../../shared/src/plant/position.ts'
import { type Checkpoint, checkpointAt } from '../../shared/src/protocol/checkpoint.ts'
import { plantWith } from './generated-plants.ts'

export const IN_FILE = { topic: 'plants', partitions: 2 }
/** The batch in which a process dies. */
export const DYING_BATCH = 5

const BATCHES = 8
const BATCH_RECORDS = 10_000

export type LongBatch = { partition: Partition; records: LogRecord[]; next: Checkpoint }

/** A log that is the same each time: two partitions in turn, and every third claim repeats an earlier id. */
export function longLog(): LongBatch[] {
  return Array.from({ length: BATCHES }, (_, batch) => {
    const first = Math.floor(batch / 2) * BATCH_RECORDS
    const records = Array.from({ length: BATCH_RECORDS }, (_, n): LogRecord => {
      const offset = (first + n) as Offset
      const eventId = `00000000-0000-4000-8000-${String(offset).padStart(12, '0')}` as EventId
      const id = BigInt.asIntN(64, BigInt(offset % 3 === 2 ? offset >> 1 : offset) * 0x9e37_79b9_7f4a_7c15n)
      return { offset, claim: { offset, id: id as PlantId, eventId, plant: plantWith({ name: 'n' }) } }
    })
    const next = checkpointAt((first + BATCH_RECORDS - 1) as Offset, records)
    return { partition: (batch % 2) as Partition, records, next }
  })
}
