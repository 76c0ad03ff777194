import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { PlantId } from '@plant-store/shared/plant/plant-id.ts'

/** A part of a partition: one of `count`, of the ids by a hash of them, of what is parked by its offset. */
export type Slice = { index: number; count: number }

/** Odd, and its bits look random: ids that follow one another, or differ by a power of two, spread over all slices. */
const MULTIPLIER = 0x9e3779b97f4a7c15n
const HASH_BITS = 64
const TAKEN_BITS = 32n

export function isIn({ index, count }: Slice, id: PlantId): boolean {
  if (count === 1) return true
  const hash = BigInt.asUintN(HASH_BITS, id * MULTIPLIER) >> TAKEN_BITS
  return Number(hash) % count === index
}

export function isParkedIn({ index, count }: Slice, offset: number): boolean {
  return offset % count === index
}

/** What a fold of this slice takes in: the claims of its ids, and what is parked at its offsets. */
export function ofSlice(slice: Slice, records: readonly LogRecord[]): readonly LogRecord[] {
  if (slice.count === 1) return records
  return records.flatMap(({ offset, claim, parked }): LogRecord[] => {
    const taken = {
      ...(claim !== undefined && isIn(slice, claim.id) && { claim }),
      ...(parked !== undefined && isParkedIn(slice, offset) && { parked }),
    }
    return taken.claim === undefined && taken.parked === undefined ? [] : [{ offset, ...taken }]
  })
}

/** How many slices it takes so that each has about so many records at most. */
export const slicesFor = (records: number, maxRecords: number) => Math.max(1, Math.ceil(records / maxRecords))
