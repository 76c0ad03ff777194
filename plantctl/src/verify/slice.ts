import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset } from '@plant-store/shared/plant/position.ts'

/**
 * One of so many parts of a partition: of its ids by hash, of its parked offsets in turn. Each part can be folded and
 * compared by itself, so that memory is bounded however long the log is.
 */
export type Slice = { index: number; count: number }

/** The plants of so many records are in memory at once, at about 250 bytes each, and half of that again while they are compared. */
export const RECORDS_AT_ONCE_MAX = 1_000_000

/** 2^64 divided by the golden ratio, so that ids which follow each other are spread. */
const SPREAD = 0x9e3779b97f4a7c15n
const HASH_BITS = 64
const DROPPED_BITS = 32n

/** How many slices it takes so that each has about so many records at most. */
export const slicesFor = (records: number, recordsMax: number) => Math.max(1, Math.ceil(records / recordsMax))

/** All slices that are so many together. */
export function slicesOf(count: number): Slice[] {
  return Array.from({ length: count }, (_, index) => ({ index, count }))
}

/** Not by the hash that chose the partition: all ids of a partition have much of that one in common. */
export function isIn({ index, count }: Slice, id: PlantId): boolean {
  return count === 1 || Number(BigInt.asUintN(HASH_BITS, id * SPREAD) >> DROPPED_BITS) % count === index
}

export function isParkedIn({ index, count }: Slice, offset: Offset): boolean {
  return offset % count === index
}

/** What of these records lies in the slice; of a claim that is parked the claim may lie in one, the offset in another. */
export function ofSlice(slice: Slice, records: readonly LogRecord[]): readonly LogRecord[] {
  if (slice.count === 1) return records
  return records.flatMap(({ offset, claim, parked }) => {
    const ownClaim = claim !== undefined && isIn(slice, claim.id) ? { claim } : undefined
    const ownParked = parked !== undefined && isParkedIn(slice, offset) ? { parked } : undefined
    return ownClaim || ownParked ? [{ offset, ...ownClaim, ...ownParked }] : []
  })
}
