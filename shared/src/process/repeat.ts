import { setInterval } from 'node:timers/promises'
import { PreconditionError } from './failures.ts'
import type { Log } from './log.ts'

export type Repeated = {
  /** Resolves when no call is under way and none will come. */
  close(): Promise<void>
}

/**
 * Calls `task` every so often, one call at a time, until closed. A call that fails is logged, and the next one
 * comes; a PreconditionError goes to `onHalt`, and none comes any more.
 */
export function repeat(
  everyMs: number,
  task: () => Promise<void>,
  what: string,
  log: Log,
  onHalt: (error: Error) => void,
): Repeated {
  const closing = new AbortController()

  async function run(): Promise<void> {
    for await (const _ of setInterval(everyMs, undefined, { signal: closing.signal })) {
      try {
        await task()
      } catch (error) {
        if (error instanceof PreconditionError) return onHalt(error)
        log.debug({ err: error }, `${what} failed; trying again`)
      }
    }
  }

  const running = run().catch((error: unknown) => {
    // Only the interval itself is left to reject, and it does so when it is closed.
    if (!closing.signal.aborted) onHalt(error as Error)
  })
  return {
    async close() {
      closing.abort()
      await running
    },
  }
}
