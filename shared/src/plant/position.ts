declare const brand: unique symbol

/**
 * Offset of a record in its partition, from 0 to 2^48 - 1 (89 years at 100,000 records a second), or BEFORE_FIRST.
 * The read model stores offsets in 48 bits; Lua and JavaScript represent integers of that size exactly.
 */
export type Offset = number & { readonly [brand]: 'Offset' }
export type Partition = number & { readonly [brand]: 'Partition' }

/** The place of one record in the log. */
export type LogPosition = { partition: Partition; offset: Offset }

/** The checkpoint of a reader that has passed no record. */
export const BEFORE_FIRST = -1 as Offset
export const FIRST = 0 as Offset
const MAX_OFFSET = 2 ** 48 - 1

const POSITION = /^[ \t]*(\d{1,4})-(\d{1,15})[ \t]*$/

const MURMUR2_SEED = 0x9747b28c
const MURMUR2_MIX = 0x5bd1e995

/** Parses an offset as Kafka and Redis print it. Throws a RangeError for anything else. */
export function offsetOf(text: string | number): Offset {
  const value = Number(text)
  if (!Number.isInteger(value) || value < BEFORE_FIRST || value > MAX_OFFSET) {
    throw new RangeError(`invalid offset ${text}: it must be an integer from -1 to ${MAX_OFFSET}`)
  }
  return value as Offset
}

export function after(offset: Offset): Offset {
  return (offset + 1) as Offset
}

export function allPartitions(count: number): Partition[] {
  return Array.from({ length: count }, (_, partition) => partition as Partition)
}

/**
 * The 32-bit murmur2 hash of Kafka's Java clients (org.apache.kafka.common.utils.Utils). The default partitioners of
 * the Java clients and of kafkajs use it.
 */
export function murmur2(data: Uint8Array): number {
  const length = data.length
  let hash = MURMUR2_SEED ^ length
  let at = 0
  for (; at + 4 <= length; at += 4) {
    let k =
      (data[at] as number) |
      ((data[at + 1] as number) << 8) |
      ((data[at + 2] as number) << 16) |
      ((data[at + 3] as number) << 24)
    k = Math.imul(k, MURMUR2_MIX)
    k ^= k >>> 24
    hash = Math.imul(hash, MURMUR2_MIX) ^ Math.imul(k, MURMUR2_MIX)
  }
  const left = length - at
  if (left === 3) hash ^= (data[at + 2] as number) << 16
  if (left >= 2) hash ^= (data[at + 1] as number) << 8
  if (left >= 1) hash = Math.imul(hash ^ (data[at] as number), MURMUR2_MIX)
  hash = Math.imul(hash ^ (hash >>> 13), MURMUR2_MIX)
  return hash ^ (hash >>> 15)
}

/** The partition of a record key, as the default partitioner of the Java client chooses it. */
export function partitionOf(key: Uint8Array, partitions: number): Partition {
  return ((murmur2(key) & 0x7fffffff) % partitions) as Partition
}

/** Formats a position as partition and offset: `3-120`. */
export function formatPosition({ partition, offset }: LogPosition): string {
  return `${partition}-${offset}`
}

/** Parses a position in a topic with `partitions` partitions. Returns undefined for any other text. */
export function parsePosition(text: string, partitions: number): LogPosition | undefined {
  const [, partition, offset] = POSITION.exec(text) ?? []
  if (partition === undefined || offset === undefined || Number(partition) >= partitions) return undefined
  try {
    return { partition: Number(partition) as Partition, offset: offsetOf(offset) }
  } catch {
    return undefined
  }
}
