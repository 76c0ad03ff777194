import type { Partition } from '@plant-store/shared/plant/position.ts'

/**
 * The partitions in groups, in their order, each of at most so many records together; what has more of its own makes a
 * group alone. `recordsOf` tells how many the log has of a partition.
 */
export function partitionGroups(
  partitions: readonly Partition[],
  recordsOf: (partition: Partition) => number,
  maxRecords: number,
): Partition[][] {
  const groups: Partition[][] = []
  let room = 0
  for (const partition of partitions) {
    const records = recordsOf(partition)
    const last = groups.at(-1)
    if (last === undefined || records > room) {
      groups.push([partition])
      room = maxRecords - records
    } else {
      last.push(partition)
      room -= records
    }
  }
  return groups
}
