import type { Partition } from '../plant/position.ts'

/** The subject of a sentence about one or more partitions. */
export function describePartitions([first, ...others]: readonly Partition[]): string {
  return `partition ${first}${others.length === 0 ? '' : ` and ${others.length} more`}`
}
