import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import type { LogBatch } from './generated-logs.ts'
import { plantWith } from './generated-plants.ts'
import { openVerifiedLog } from './verified-log.ts'

// A log of few records of all kinds, and a generation that is its fold.

export const P = 0 as Partition
export const GENERATION = 'live-one'
export const eventId = (n: number) => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}` as EventId

export const claimAt = (at: number, id: bigint, rest: Partial<NonNullable<LogRecord['claim']>> = {}): LogRecord => {
  const offset = offsetOf(at)
  return {
    offset,
    claim: { offset, id: id as PlantId, eventId: eventId(at), plant: plantWith({ name: `plant ${id}` }), ...rest },
  }
}

/** A claim of each of these ids, at the offsets from `first` on. */
export function batchOf(first: number, ids: readonly bigint[]): LogBatch {
  const records = ids.map((id, n) => claimAt(first + n, id))
  return { records, next: checkpointAt((first + ids.length - 1) as Offset, records) }
}

const TAGGED = claimAt(0, 1n, { plant: plantWith({ name: 'plant 1', tag: 'herb' }) })
export const RECORDS: LogRecord[] = [
  TAGGED,
  claimAt(1, 2n),
  claimAt(2, 1n),
  { offset: offsetOf(3), parked: PARKED.otherType },
  { ...claimAt(4, 3n, { plant: undefined }), parked: PARKED.unknownVersion },
  claimAt(5, 4n),
  claimAt(6, 5n),
]
export const LOG = { records: RECORDS, next: checkpointAt(6 as Offset, RECORDS) }

/** A store of two partitions, of which one has this log and this generation. */
export async function openCorruptible() {
  const log = await openVerifiedLog()
  log.write(P, LOG)
  await log.apply(P, LOG, GENERATION)
  return { ...log, at: log.at(P) }
}
