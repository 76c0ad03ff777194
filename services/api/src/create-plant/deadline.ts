import type { Time } from '@plant-store/shared/runtime/time.ts'

export type Deadline = ReturnType<typeof startDeadline>

/** The end of a create: the time is over, the service ends, or the create has its outcome. */
export function startDeadline(time: Time, ms: number) {
  const controller = new AbortController()
  const { promise, resolve } = Promise.withResolvers<undefined>()
  function pass(): void {
    controller.abort()
    resolve(undefined)
  }
  const cancel = time.after(ms, pass)

  return {
    /** Aborted when the deadline has passed or the create has its outcome. */
    signal: controller.signal,
    /** Resolves when the deadline passes. */
    passed: promise,
    pass,

    /** The create has its outcome. */
    end(): void {
      cancel()
      controller.abort()
    },
  }
}
