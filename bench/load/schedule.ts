import { createRandom } from '../../tests/simulation/random.ts'

const TWO_TO_THE_32 = 2 ** 32

/**
 * When requests are due, in ms from the begin, ascending: a Poisson process, as that of many independent clients. It is
 * fixed beforehand, so that a slow server does not reduce the offered load.
 */
export function* arrivals(ratePerSecond: number, seed: number): Generator<number, never> {
  const random = createRandom(seed)
  const meanGapMs = 1_000 / ratePerSecond
  for (let dueMs = 0; ; ) {
    dueMs -= Math.log(1 - random.below(TWO_TO_THE_32) / TWO_TO_THE_32) * meanGapMs
    yield dueMs
  }
}
