const TWO_TO_THE_32 = 2 ** 32

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / TWO_TO_THE_32
  }
}

/**
 * When requests are due, in ms from the begin, ascending: a Poisson process, as that of many independent clients. It is
 * fixed beforehand, so that a slow server does not reduce the offered load.
 */
export function* arrivals(ratePerSecond: number, seed: number): Generator<number, never> {
  const random = seededRandom(seed)
  const meanGapMs = 1_000 / ratePerSecond
  for (let dueMs = 0; ; ) {
    dueMs -= Math.log(1 - random()) * meanGapMs
    yield dueMs
  }
}
