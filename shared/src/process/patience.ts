import { setTimeout as delay } from 'node:timers/promises'
import { PreconditionError } from './failures.ts'

export type Patience = {
  everyMs: number
  giveUpAfterMs: number
  /** Told of each attempt that failed and is made again. */
  onFailure?(error: unknown): void
}

/**
 * Makes an attempt again and again until it succeeds. Throws a PreconditionError at once, for nothing gets
 * better by trying again, and any other error when the time is up.
 */
export async function patiently<T>(
  attempt: () => Promise<T>,
  { everyMs, giveUpAfterMs, onFailure }: Patience,
): Promise<T> {
  const giveUpAt = performance.now() + giveUpAfterMs
  while (true) {
    try {
      return await attempt()
    } catch (error) {
      if (error instanceof PreconditionError || performance.now() > giveUpAt) throw error
      onFailure?.(error)
      await delay(everyMs)
    }
  }
}
