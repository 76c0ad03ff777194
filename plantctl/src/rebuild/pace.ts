import { delay, type Time } from '@plant-store/shared/runtime/time.ts'

/** At most so long no word comes from a wait, though a slow pace may hold one fetch up for hours. */
const ALIVE_EVERY_MS = 1_000

/** Holds work to so many records a second at most, all partitions together; without a limit it never waits. */
export function createPace(recordsPerSecond: number | undefined, time: Time) {
  let freeAt = time.now()

  /**
   * Resolves when so many more are allowed to have been taken in, or when the work is broken off. Tells meanwhile
   * that it is the pace that holds the work up.
   */
  return async function keepPace(records: number, signal: AbortSignal, onAlive: () => void): Promise<void> {
    if (recordsPerSecond === undefined || records === 0) return
    freeAt = Math.max(freeAt, time.now()) + (records / recordsPerSecond) * 1_000
    const until = freeAt
    while (time.now() < until && !signal.aborted) {
      await delay(time, Math.min(until - time.now(), ALIVE_EVERY_MS), signal)
      onAlive()
    }
  }
}
