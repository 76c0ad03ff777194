import { delay, type Time } from '@plant-store/shared/runtime/time.ts'

const FIRST_WAIT_MS = 5
const LONGEST_WAIT_MS = 160

export type ReadOptions = { time: Time; deadlineMs: number }

/** Nothing could be told; `cause` is what the last attempt failed with, if it did. */
export type NotCovered = { is: 'coverageGap'; cause?: unknown }

/**
 * Tries until the view of this instance reaches far enough to tell an answer. Resolves within the deadline, or
 * when the attempt that is under way then has ended: at the latest that it can't be told.
 */
export async function retryUntilCovered<T>(
  attempt: () => Promise<T | undefined>,
  { time, deadlineMs }: ReadOptions,
): Promise<T | NotCovered> {
  const endsAt = time.now() + deadlineMs
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
    let failed: { cause?: unknown } = {}
    try {
      const answer = await attempt()
      if (answer !== undefined) return answer
    } catch (cause) {
      failed = { cause }
    }
    if (time.now() + waitMs > endsAt) return { is: 'coverageGap', ...failed }
    await delay(time, waitMs)
  }
}
