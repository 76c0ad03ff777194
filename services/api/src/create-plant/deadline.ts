import type { Time } from '@plant-store/shared/runtime/time.ts'

export type Deadline = ReturnType<typeof startDeadline>

/** The end of a create: the time is over, the service ends, or the create has its outcome. */
export function startDeadline(time: Time, ms: number) {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  // Not an AbortController: each one that is aborted creates an error with its stack.
  let isOver = false
  function pass(): void {
    isOver = true
    resolve(undefined)
  }
  const cancel = time.after(ms, pass)

  return {
    /** True when the deadline has passed or the create has its outcome. */
    isOver: () => isOver,
    /** Resolves when the deadline passes. */
    passed: promise,
    pass,

    /** The create has its outcome. */
    end(): void {
      cancel()
      isOver = true
    },
  }
}
