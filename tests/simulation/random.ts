/** A random source that follows from one seed. */
export type Random = {
  /** An integer from 0 to `count - 1`. */
  below(count: number): number
  chance(probability: number): boolean
  /** Undefined for an empty array. */
  pick<T>(items: readonly T[]): T | undefined
}

/** One of the items, of which there is at least one. */
export const pick = <T>(items: readonly T[], random: Random): T => random.pick(items) as T

/** Draws an item in proportion to its weight. Those after the last weight have none. */
export function pickByWeight<T>(items: readonly T[], weights: readonly number[], random: Random): T | undefined {
  let left = (random.below(1_000_000) / 1_000_000) * weights.reduce((sum, weight) => sum + weight, 0)
  return items.find((_, n) => {
    left -= weights[n] as number
    return left < 0
  })
}

/** Mulberry32: one 32-bit state, well mixed, the same numbers on every machine. */
export function createRandom(seed: number): Random {
  let state = seed | 0
  function next(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number) => Math.floor(next() * count)
  return {
    below,
    chance: (probability) => next() < probability,
    pick: (items) => (items.length === 0 ? undefined : items[below(items.length)]),
  }
}
