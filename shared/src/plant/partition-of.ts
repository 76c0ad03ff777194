import type { Partition } from './offset.ts'

const SEED = 0x9747b28c
const MIX = 0x5bd1e995

/**
 * The 32-bit murmur2 of Kafka's Java clients (org.apache.kafka.common.utils.Utils), which every
 * client's default partitioner agrees on.
 */
export function murmur2(data: Uint8Array): number {
  const length = data.length
  const words = length >>> 2
  let hash = SEED ^ length
  for (let word = 0; word < words; word++) {
    const at = word * 4
    let k =
      (data[at] as number) |
      ((data[at + 1] as number) << 8) |
      ((data[at + 2] as number) << 16) |
      ((data[at + 3] as number) << 24)
    k = Math.imul(k, MIX)
    k ^= k >>> 24
    hash = Math.imul(hash, MIX) ^ Math.imul(k, MIX)
  }
  const rest = words * 4
  const left = length - rest
  if (left === 3) hash ^= (data[rest + 2] as number) << 16
  if (left >= 2) hash ^= (data[rest + 1] as number) << 8
  if (left >= 1) hash = Math.imul(hash ^ (data[rest] as number), MIX)
  hash = Math.imul(hash ^ (hash >>> 13), MIX)
  return hash ^ (hash >>> 15)
}

/** The partition that a record key belongs to, as Java's default partitioner places it. */
export function partitionOf(key: Uint8Array, partitions: number): Partition {
  return ((murmur2(key) & 0x7fffffff) % partitions) as Partition
}
