import { reasonOf } from '../event-log/broker-errors.ts'
import { singleFlight } from '../runtime/single-flight.ts'
import { systemTime, within } from '../runtime/time.ts'

/** Reading the status takes requests to Kafka and Redis. The status is not read while no page is open. */
const EVERY_MS = 1_000
const PATIENCE_MS = 500

/** The newest value that was read, its age in milliseconds, and why there is no newer one. */
export type Latest<T> = { value?: T; ageMs?: number; error?: string }

/** Reads at most once a second and at a time. After half a second a caller gets the previous value. */
export function createLatest<T>(read: () => Promise<T>) {
  let latest: { value: T; at: number } | undefined
  let error: string | undefined
  let startedAt = -Infinity

  const refresh = singleFlight(async () => {
    startedAt = systemTime.now()
    try {
      latest = { value: await read(), at: systemTime.now() }
      error = undefined
    } catch (reason) {
      error = reasonOf(reason)
    }
  })

  return async (): Promise<Latest<T>> => {
    if (latest === undefined || systemTime.now() >= startedAt + EVERY_MS) await within(PATIENCE_MS, refresh())
    return {
      ...(latest && { value: latest.value, ageMs: Math.round(systemTime.now() - latest.at) }),
      ...(error !== undefined && { error }),
    }
  }
}
