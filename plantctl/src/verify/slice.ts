import type { Range } from '@plant-store/shared/event-log/replay.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartitionOf, fold, type PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import { createPackedClaims, type PackedClaims } from '@plant-store/shared/protocol/packed-claims.ts'

/**
 * One of `count` parts of a partition: ids by hash, parked records by offset. Each slice can be folded and compared on
 * its own, so that memory is bounded however long the log is.
 */
export type Slice = { index: number; count: number }

/** Records whose plants are in memory at once: about 80 bytes each with short texts, and more while they are compared. */
export const RECORDS_AT_ONCE_MAX = 1_000_000

/** 2^64 divided by the golden ratio, which spreads consecutive ids. */
const SPREAD = 0x9e3779b97f4a7c15n
const HASH_BITS = 64
const DROPPED_BITS = 32n

export function slicesOf(count: number): Slice[] {
  return Array.from({ length: count }, (_, index) => ({ index, count }))
}

/** Not by the hash that selects the partition: all ids of a partition have many bits of that hash in common. */
export function isIn({ index, count }: Slice, id: PlantId): boolean {
  return count === 1 || Number(BigInt.asUintN(HASH_BITS, id * SPREAD) >> DROPPED_BITS) % count === index
}

export function isParkedIn({ index, count }: Slice, offset: Offset): boolean {
  return offset % count === index
}

/** The records in a slice. The claim of a parked record may be in one slice and its offset in another. */
export function ofSlice(slice: Slice, records: readonly LogRecord[]): readonly LogRecord[] {
  if (slice.count === 1) return records
  return records.flatMap(({ offset, claim, parked }) => {
    const ownClaim = claim !== undefined && isIn(slice, claim.id) ? { claim } : undefined
    const ownParked = parked !== undefined && isParkedIn(slice, offset) ? { parked } : undefined
    return ownClaim || ownParked ? [{ offset, ...ownClaim, ...ownParked }] : []
  })
}

export type ReadRanges<R> = (
  ranges: ReadonlyMap<Partition, Range>,
  onRecords: (partition: Partition, records: R[], reached?: Checkpoint) => Promise<void> | void,
) => Promise<void>
export type ReadLog = ReadRanges<LogRecord>

export type Folded = PartitionState<PackedClaims>

/** Folds a slice of some partitions, each from its first record to before an offset, in one reading of the log. */
export async function foldSlice(
  read: ReadLog,
  ends: ReadonlyMap<Partition, Offset>,
  slice: Slice,
): Promise<Map<Partition, Folded>> {
  const folds = new Map([...ends.keys()].map((partition) => [partition, emptyPartitionOf(createPackedClaims())]))
  const ranges = new Map([...ends].map(([partition, end]) => [partition, { from: BEFORE_LOG, end }]))
  await read(ranges, (partition, records, reached) => {
    const state = fold(folds.get(partition) as Folded, ofSlice(slice, records))
    if (reached !== undefined) state.checkpoint = reached
  })
  return folds
}

export type SlicedGroup = { group: Partition[]; slices: Slice[] }

/**
 * Groups partitions, in order, so that a slice of each group has about `recordsMax` records at most; a larger partition
 * is alone in its group. `ends` has their numbers of records.
 */
export function inSlices(partitions: readonly Partition[], ends: readonly number[], recordsMax: number): SlicedGroup[] {
  const groups: SlicedGroup[] = []
  let room = 0
  for (const partition of partitions) {
    const records = ends[partition] as number
    const last = groups.at(-1)
    if (last === undefined || records > room) {
      groups.push({ group: [partition], slices: slicesOf(Math.max(1, Math.ceil(records / recordsMax))) })
      room = recordsMax - records
    } else {
      last.group.push(partition)
      room -= records
    }
  }
  return groups
}

/** The records to read: each slice of a partition is a separate reading. */
export function recordsIn(groups: readonly SlicedGroup[], ends: readonly number[]): number {
  const perGroup = groups.map(({ group, slices }) => slices.length * sumOf(group, ends))
  return perGroup.reduce((sum, records) => sum + records, 0)
}

export const sumOf = (partitions: readonly Partition[], ends: readonly number[]): number =>
  partitions.reduce((sum, partition) => sum + (ends[partition] as number), 0)
