import { delay, type Time } from '@plant-store/shared/process/time.ts'

/** Holds work to so many records a second at most, all partitions together; without a limit it never waits. */
export function createPace(recordsPerSecond: number | undefined, time: Time, signal: AbortSignal) {
  let freeAt = time.now()

  /** Resolves when so many more are allowed to have been taken in, or when the work is broken off. */
  return async function keepPace(records: number): Promise<void> {
    if (recordsPerSecond === undefined || records === 0) return
    freeAt = Math.max(freeAt, time.now()) + (records / recordsPerSecond) * 1_000
    await delay(time, freeAt - time.now(), signal)
  }
}
