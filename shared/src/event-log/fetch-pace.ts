import type { Time } from '../runtime/time.ts'

/** The wait from a fetch that returned records to the next one: until it has `records`, within limits. */
export type FetchPace = { records: number; shortestMs: number; longestMs: number }

const MEASURED_OVER_MS = 100

/** Measures the rate at which records arrive. */
export function createFetchPace({ records, shortestMs, longestMs }: FetchPace, { now }: Pick<Time, 'now'>) {
  let since = now()
  let arrived = 0
  let waitMs = longestMs

  /** Returns the wait for the rate of the last 100 ms or more, which end with the arrival of these records. */
  return function waitAfter(delivered: number): number {
    arrived += delivered
    const ms = now() - since
    if (ms >= MEASURED_OVER_MS) {
      waitMs = Math.min(longestMs, Math.max(shortestMs, (records * ms) / arrived))
      since = now()
      arrived = 0
    }
    return waitMs
  }
}
