import type { Time } from '@plant-store/shared/runtime/time.ts'
import type { RedisServer } from './redis-scripts.ts'

/** A process of the simulation, from its start to its crash. */
export type SimulatedProcess = {
  readonly name: string
  alive: boolean
  /** The Redis server it is connected to; after a failover that may be the old master. */
  redis: RedisServer
}

type Timer = { at: number; process: SimulatedProcess; callback: (() => void) | undefined }

export type Clock = ReturnType<typeof createClock>

/**
 * As setTimeout of Node: it takes whole milliseconds, and counts them from the start of the turn of the event loop, so
 * that a timer may fire before the monotonic clock has reached its time.
 */
const EARLY_MS = 1

/** Simulated time, which only the schedule advances. The timers of a process end with it, and fire early. */
export function createClock() {
  let now = 0
  let timers: Timer[] = []
  const isWaiting = ({ callback, process }: Timer) => callback !== undefined && process.alive

  return {
    timeOf(process: SimulatedProcess): Time {
      return {
        now: () => now,
        after(ms, callback) {
          const timer: Timer = { at: now + Math.max(0, ms - EARLY_MS), process, callback }
          timers.push(timer)
          return () => {
            timer.callback = undefined
          }
        },
      }
    },

    /** Milliseconds until the next timer is due; undefined without timers. */
    untilNext(): number | undefined {
      timers = timers.filter(isWaiting)
      return timers.length === 0
        ? undefined
        : Math.max(0, timers.reduce((least, { at }) => Math.min(least, at), Infinity) - now)
    },

    /** Advances time in one step: timers that are due before its end run late. */
    advance(ms: number): void {
      now += ms
      const due = timers.filter((timer) => isWaiting(timer) && timer.at <= now).sort((a, b) => a.at - b.at)
      timers = timers.filter((timer) => isWaiting(timer) && timer.at > now)
      for (const { callback } of due) callback?.()
    },
  }
}

/** Runs all promise callbacks: the code under test waits for nothing else between two events. */
export const flushPromises = () => new Promise<void>((resolve) => setImmediate(resolve))

/** The outcome of a promise; undefined while it is pending. */
export function outcomeOf<T>(promise: Promise<T>): () => PromiseSettledResult<T> | undefined {
  let outcome: PromiseSettledResult<T> | undefined
  void Promise.allSettled([promise]).then(([settled]) => {
    outcome = settled
  })
  return () => outcome
}
