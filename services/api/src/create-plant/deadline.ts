import type { Time } from '@plant-store/shared/runtime/time.ts'

/** The end of a create: its time is over, the service ends, or the create has its outcome. */
export class Deadline {
  /** True when the deadline has passed or the create has its outcome. */
  isOver = false
  /** The index in the deadlines of all creates. */
  index = 0
  /** By the clock of `Time.now`. */
  at: number
  #resolve: ((none: undefined) => void) | undefined

  constructor(at: number) {
    this.at = at
  }

  /** As Promise.withResolvers; the promise resolves with undefined when the deadline passes. One at a time. */
  withResolvers<T>(): PromiseWithResolvers<T | undefined> {
    const resolvers = Promise.withResolvers<T | undefined>()
    this.#resolve = resolvers.resolve
    if (this.isOver) resolvers.resolve(undefined)
    return resolvers
  }

  /** Not Promise.race, which creates several promises for each that takes part. */
  limit<T>(promise: Promise<T>): Promise<T | undefined> {
    const limited = this.withResolvers<T>()
    void promise.then(limited.resolve)
    return limited.promise
  }

  pass(): void {
    this.isOver = true
    this.#resolve?.(undefined)
  }
}

/** The deadlines of all creates in flight, each `longestMs` after its start at the latest. */
export function createDeadlines(time: Time, longestMs: number) {
  /** In no order. Not a Set, for the reason that transient-map.ts gives. */
  const running: Deadline[] = []
  let closing: PromiseWithResolvers<void> | undefined
  let shutdownAt = Number.POSITIVE_INFINITY
  /** One timer for all: at the earliest deadline, or before it. */
  let timer: { at: number; cancel(): void } | undefined

  function passUntil(at: number): void {
    if (timer !== undefined && timer.at <= at) return
    timer?.cancel()
    timer = { at, cancel: time.after(at - time.now(), passDue) }
  }

  function passDue(): void {
    timer = undefined
    const now = time.now()
    let next = Number.POSITIVE_INFINITY
    for (const deadline of running) {
      if (deadline.at <= now) deadline.pass()
      else next = Math.min(next, deadline.at)
    }
    if (next < Number.POSITIVE_INFINITY) passUntil(next)
  }

  return {
    start(): Deadline {
      const deadline = new Deadline(Math.min(time.now() + longestMs, shutdownAt))
      deadline.index = running.push(deadline) - 1
      passUntil(deadline.at)
      return deadline
    },

    end(deadline: Deadline): void {
      deadline.isOver = true
      const last = running.pop() as Deadline
      if (last !== deadline) {
        running[deadline.index] = last
        last.index = deadline.index
      }
      if (running.length > 0) return
      timer?.cancel()
      timer = undefined
      closing?.resolve()
    },

    /** Shortens all deadlines to at most `ms` from now, also those that start later. */
    endWithin(ms: number): void {
      shutdownAt = time.now() + ms
      for (const deadline of running) deadline.at = Math.min(deadline.at, shutdownAt)
      if (running.length > 0) passUntil(shutdownAt)
    },

    /** Resolves when no create is in flight. */
    async allEnded(): Promise<void> {
      closing ??= Promise.withResolvers()
      if (running.length === 0) closing.resolve()
      await closing.promise
    },
  }
}
