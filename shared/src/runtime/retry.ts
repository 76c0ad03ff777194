import { messageOf, PreconditionError } from './failures.ts'
import type { Log } from './log.ts'
import { delay, systemTime, type Time } from './time.ts'

export type BackOff = ReturnType<typeof createBackOff>

/** Waits that grow with each failure. */
export function createBackOff({ firstMs, longestMs }: { firstMs: number; longestMs: number }) {
  let waitMs = firstMs
  return {
    /** The wait after one more failure: twice the one before, up to a limit. */
    nextMs(): number {
      const ms = waitMs
      waitMs = Math.min(2 * waitMs, longestMs)
      return ms
    },
    /** After a success the waits start again with the first one. */
    reset(): void {
      waitMs = firstMs
    },
  }
}

export type RetryOptions = {
  time?: Time
  /** The wait after the first failure. */
  everyMs: number
  /** The limit up to which the wait doubles with each failure; by default it does not grow. */
  longestMs?: number
  giveUpAfterMs: number
  /** Ends the attempts: the error of the last one is thrown. */
  signal?: AbortSignal | undefined
  /** Receives the error of each attempt that is followed by another one. */
  onFailure?(error: unknown): void
}

/** Repeats an attempt until it succeeds or the time is up. Throws a PreconditionError at once. */
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

/**
 * Does the work for all items at the same time, and then throws the first error, a PreconditionError before others: an
 * item that fails or hangs delays no other.
 */
export async function eachApart<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled(Array.from(items, work))
  const errors = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason)
  if (errors.length > 0) throw errors.find((error) => error instanceof PreconditionError) ?? errors[0]
}

export type Repetition = {
  time: Time
  /** The least time from the end of one call to the start of the next. */
  everyMs: number
  task(): Promise<unknown>
  what: string
  log: Log
  /** The reason of a failure, for people; its message unless given. */
  reasonOf?(error: unknown): string
  onHalt(error: Error): void
}

/**
 * Calls `task` periodically, one call at a time, until closed. A call that fails is logged, and the next one follows;
 * a PreconditionError goes to `onHalt`, and ends the calls.
 */
export function repeat({ time, everyMs, task, what, log, reasonOf = messageOf, onHalt }: Repetition) {
  const closing = new AbortController()
  let problem: string | undefined

  async function run(): Promise<void> {
    // Not setInterval: an interval that was delayed makes up for the missed calls all at once.
    while (true) {
      await delay(time, everyMs, closing.signal)
      if (closing.signal.aborted) return
      try {
        await task()
        problem = undefined
      } catch (error) {
        if (closing.signal.aborted) return
        if (error instanceof PreconditionError) return onHalt(error)
        problem = `${what}: ${reasonOf(error)}`
        log.debug({ err: error }, `${what} failed, retrying`)
      }
    }
  }

  const running = run()
  return {
    /** The failure of the last call; empty when it succeeded. */
    problems: (): string[] => (problem === undefined ? [] : [problem]),
    /** Resolves when no call is in flight and none will follow. */
    async close(): Promise<void> {
      closing.abort()
      await running
    },
  }
}
