import type { Offset } from '@plant-store/shared/plant/offset.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { PlantId } from '@plant-store/shared/plant/plant-id.ts'

/**
 * One of so many parts of a partition: its ids by hash, and its parked offsets in turn. Each part can be folded and
 * compared by itself, so that memory is bounded however long the log is.
 */
export type Slice = { index: number; of: number }

export const WHOLE: Slice = { index: 0, of: 1 }

/** 2^64 divided by the golden ratio, so that ids which follow each other are spread. */
const SPREAD = 0x9e3779b97f4a7c15n

/** All slices that are so many together. */
export function slicesOf(count: number): Slice[] {
  return Array.from({ length: count }, (_, index) => ({ index, of: count }))
}

/** Not by the hash that chose the partition: all ids of a partition have much of that one in common. */
export function hasId({ index, of }: Slice, id: PlantId): boolean {
  return of === 1 || Number(BigInt.asUintN(64, id * SPREAD) >> 32n) % of === index
}

export function hasOffset({ index, of }: Slice, offset: Offset): boolean {
  return offset % of === index
}

/** What of these records lies in the slice; a claim that is parked may lie in one, and its offset in another. */
export function recordsIn(slice: Slice, records: readonly LogRecord[]): LogRecord[] {
  if (slice.of === 1) return [...records]
  return records.flatMap(({ offset, claim, parked }) => {
    const ownClaim = claim !== undefined && hasId(slice, claim.id) ? { claim } : undefined
    const ownParked = parked !== undefined && hasOffset(slice, offset) ? { parked } : undefined
    return ownClaim || ownParked ? [{ offset, ...ownClaim, ...ownParked }] : []
  })
}
