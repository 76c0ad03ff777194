import { delay, type Time } from '@plant-store/shared/runtime/time.ts'

const FIRST_WAIT_MS = 5
const MAX_WAIT_MS = 160

/** `shutdown` is set when the service ends: no read waits longer. */
export type ReadOptions = { time: Time; deadlineMs: number; shutdown?: { at: number } }

/** The reach stayed too low until the deadline; `cause` is the error of the last attempt, if it failed. */
export type NotCovered = { is: 'coverageGap'; cause?: unknown }

/**
 * Calls `attempt` until it returns a result, which it does as soon as this instance's reach is high enough. Resolves
 * within the deadline, or when the attempt in flight at the deadline has ended. Calls `onNotCovered` after each attempt
 * without a result, with the time since the first one.
 */
export async function retryUntilCovered<T>(
  attempt: () => Promise<T | undefined>,
  { time, deadlineMs, shutdown }: ReadOptions,
  onNotCovered: (waitedMs: number) => void,
): Promise<T | NotCovered> {
  const startedAt = time.now()
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
    let failed: { cause?: unknown } = {}
    try {
      const result = await attempt()
      if (result !== undefined) return result
      onNotCovered(time.now() - startedAt)
    } catch (cause) {
      failed = { cause }
    }
    const endsAt = Math.min(startedAt + deadlineMs, shutdown?.at ?? Number.POSITIVE_INFINITY)
    if (time.now() + waitMs > endsAt) return { is: 'coverageGap', ...failed }
    await delay(time, waitMs)
  }
}
