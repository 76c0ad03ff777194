import type { Partition } from '@plant-store/shared/plant/offset.ts'
import { slicesFor } from './slice.ts'

/** Partitions whose logs are folded at the same time, or one of them in so many slices, one after the other. */
export type Portion = { partitions: Partition[]; slices: number }

/** The plants of so many records are in memory at once, at about 400 bytes each. */
export const RECORDS_AT_ONCE_MAX = 500_000

/**
 * Cuts a log into portions that fit into memory, in the order given. Each portion is read by a group of its own,
 * which takes Kafka some time to form; so small partitions go together.
 *
 * @param records how many records each partition has
 */
export function portionsOf(
  records: ReadonlyMap<Partition, number>,
  recordsAtOnceMax = RECORDS_AT_ONCE_MAX,
): Portion[] {
  const portions: Portion[] = []
  let room = 0
  for (const [partition, count] of records) {
    const last = portions.at(-1)
    if (last !== undefined && count <= room) last.partitions.push(partition)
    else portions.push({ partitions: [partition], slices: slicesFor(count, recordsAtOnceMax) })
    room = (last !== undefined && count <= room ? room : Math.max(count, recordsAtOnceMax)) - count
  }
  return portions
}
