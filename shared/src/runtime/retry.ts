import { createBackOff } from './back-off.ts'
import { PreconditionError } from './failures.ts'
import { delay, systemTime, type Time } from './time.ts'

export type RetryOptions = {
  time?: Time
  everyMs: number
  /** How far the wait after each failure grows; without it it stays as it is. */
  longestMs?: number
  giveUpAfterMs: number
  /** Ends the attempts: what the last one failed with is then thrown. */
  signal?: AbortSignal | undefined
  /** Told of each attempt that failed and is made again. */
  onFailure?(error: unknown): void
}

/**
 * Makes an attempt again and again until it succeeds. Throws a PreconditionError at once, for nothing gets
 * better by trying again, and any other error when the time is up.
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  { time = systemTime, everyMs, longestMs = everyMs, giveUpAfterMs, signal, onFailure }: RetryOptions,
): Promise<T> {
  const backOff = createBackOff({ firstMs: everyMs, longestMs })
  const giveUpAt = time.now() + giveUpAfterMs
  while (true) {
    try {
      return await attempt()
    } catch (error) {
      if (error instanceof PreconditionError || signal?.aborted || time.now() > giveUpAt) throw error
      onFailure?.(error)
      await delay(time, backOff.nextMs(), signal)
    }
  }
}
