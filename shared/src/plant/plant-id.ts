declare const brand: unique symbol

/** Identification number of a plant: any int64, exact. */
export type PlantId = bigint & { readonly [brand]: 'PlantId' }

const MIN_INT64 = -(2n ** 63n)
const MAX_INT64 = 2n ** 63n - 1n
const CANONICAL_INT64 = /^(?:0|-?[1-9][0-9]{0,18})$/

/** The id with this value, or undefined when the value lies outside int64. */
export function plantIdOf(value: bigint): PlantId | undefined {
  return value >= MIN_INT64 && value <= MAX_INT64 ? (value as PlantId) : undefined
}

/**
 * The id written as canonical decimal (`-7`, `0`, `9007199254740993`), or undefined for any other text
 * (`007`, `-0`, `+1`, `1.0`). Two ids are the same if and only if their canonical texts are.
 */
export function parsePlantId(text: string): PlantId | undefined {
  return CANONICAL_INT64.test(text) ? plantIdOf(BigInt(text)) : undefined
}
