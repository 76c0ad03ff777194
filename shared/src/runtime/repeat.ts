import { messageOf, PreconditionError } from './failures.ts'
import type { Log } from './log.ts'
import { delay, type Time } from './time.ts'

export type Repeated = {
  /** What the last call failed with; undefined when it succeeded. */
  problem(): string | undefined
  /** Resolves when no call is under way and none will come. */
  close(): Promise<void>
}

export type Repetition = {
  time: Time
  everyMs: number
  task(): Promise<void>
  /** What the task does, for the log. */
  what: string
  log: Log
  onHalt(error: Error): void
}

/**
 * Calls `task` every so often, one call at a time and at least that time apart, until closed. A call that fails is
 * logged, and the next one comes; a PreconditionError goes to `onHalt`, and none comes any more.
 */
export function repeat({ time, everyMs, task, what, log, onHalt }: Repetition): Repeated {
  const closing = new AbortController()
  let problem: string | undefined

  async function run(): Promise<void> {
    // Not an interval: one that was held up makes up for the calls it missed, all at once.
    while (true) {
      await delay(time, everyMs, closing.signal)
      if (closing.signal.aborted) return
      try {
        await task()
        problem = undefined
      } catch (error) {
        if (closing.signal.aborted) return
        if (error instanceof PreconditionError) return onHalt(error)
        problem = `${what}: ${messageOf(error)}`
        log.debug({ err: error }, `${what} failed; trying again`)
      }
    }
  }

  const running = run()
  return {
    problem: () => problem,
    async close() {
      closing.abort()
      await running
    },
  }
}
