import { delay, type Time } from '@plant-store/shared/runtime/time.ts'

/** A slow pace may hold up one fetch for hours; `onAlive` is called at least this often during a wait. */
const ALIVE_EVERY_MS = 1_000

/** Limits work to a number of records per second, over all partitions; without a number it never waits. */
export function createPace(recordsPerSecond: number | undefined, time: Time) {
  let freeAt = time.now()

  /**
   * Resolves when this many more records are allowed, or when the signal is aborted. Calls `onAlive` while it waits:
   * the rebuild is not stuck, only slowed down.
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
