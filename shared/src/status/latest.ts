import { reasonOf } from '../event-log/broker-errors.ts'
import { singleFlight } from '../runtime/single-flight.ts'
import { type Time, within } from '../runtime/time.ts'

/** The newest value that was read, its age in milliseconds, and why there is no newer one. */
export type Latest<T> = { value?: T; ageMs?: number; error?: string }

/** Reads at most once within `everyMs` and at a time. After `patienceMs` a caller gets the previous value. */
export function createLatest<T>(read: () => Promise<T>, time: Time, everyMs: number, patienceMs: number) {
  let latest: { value: T; at: number } | undefined
  let error: string | undefined
  let startedAt = -Infinity

  const refresh = singleFlight(async () => {
    startedAt = time.now()
    try {
      latest = { value: await read(), at: time.now() }
      error = undefined
    } catch (reason) {
      error = reasonOf(reason)
    }
  })

  return async (): Promise<Latest<T>> => {
    if (latest === undefined || time.now() >= startedAt + everyMs) await within(patienceMs, refresh(), time)
    return {
      ...(latest && { value: latest.value, ageMs: Math.round(time.now() - latest.at) }),
      ...(error !== undefined && { error }),
    }
  }
}
