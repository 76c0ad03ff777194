declare const offsetBrand: unique symbol
declare const partitionBrand: unique symbol

/**
 * Position of a record in its partition, 0 to 2^48 - 1 (89 years at 100,000 records a second), or
 * BEFORE_FIRST. The read model stores offsets in 48 bits; Lua and JavaScript count so far exactly.
 */
export type Offset = number & { readonly [offsetBrand]: 'Offset' }
export type Partition = number & { readonly [partitionBrand]: 'Partition' }

/** The checkpoint of a read model that has passed no record. */
export const BEFORE_FIRST = -1 as Offset
export const FIRST = 0 as Offset
const MAX_OFFSET = 2 ** 48 - 1

/** Reads an offset as Kafka and Redis print it. Throws a RangeError for anything else. */
export function offsetOf(text: string | number): Offset {
  const value = Number(text)
  if (!Number.isInteger(value) || value < BEFORE_FIRST || value > MAX_OFFSET) {
    throw new RangeError(`${text} is no offset between -1 and ${MAX_OFFSET}`)
  }
  return value as Offset
}

export function after(offset: Offset): Offset {
  return (offset + 1) as Offset
}

/** All partitions of a topic that has so many. */
export function allPartitions(count: number): Partition[] {
  return Array.from({ length: count }, (_, partition) => partition as Partition)
}
