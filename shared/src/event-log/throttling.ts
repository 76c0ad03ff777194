import type { Consumer } from 'kafkajs'
import type { Time } from '../runtime/time.ts'
import { reasonOf } from './broker-errors.ts'

/** A reader whose requests wait longer may send its heartbeats too late for its group, which then expels it. */
const NAMED_AFTER_MS = 3_000
/** Shorter waits of appends are within the usual times of creates. */
const APPENDS_NAMED_AFTER_MS = 500

const remedy = (quota: string) => `raise ${quota} or request_percentage of this client or user (kafka-configs.sh)`
export const RAISE_APPEND_QUOTA = remedy('producer_byte_rate')

/** The quota that holds appends back for so long, as text for people; empty for a short time. */
export function throttledAppends(heldBackMs: number): string[] {
  if (heldBackMs < APPENDS_NAMED_AFTER_MS) return []
  return [`kafka: a quota holds appends back for ${Math.ceil(heldBackMs / 1_000)} s: ${RAISE_APPEND_QUOTA}`]
}

/** Reasons without an error why a consumer is delayed, or its group expels it: quotas and failed heartbeats. */
export function createThrottling(time: Time) {
  /** Since when requests to a broker wait. kafkajs holds them back only when the broker throttles the client. */
  const waitingSince = new Map<string, number>()
  let heartbeatFailure: string | undefined

  return {
    watch(consumer: Consumer): void {
      const { REQUEST_QUEUE_SIZE, HEARTBEAT, GROUP_JOIN } = consumer.events
      waitingSince.clear()
      consumer.on(REQUEST_QUEUE_SIZE, ({ payload: { broker, queueSize } }) => {
        if (queueSize === 0) waitingSince.delete(broker)
        else if (!waitingSince.has(broker)) waitingSince.set(broker, time.now())
      })
      for (const event of [HEARTBEAT, GROUP_JOIN]) {
        consumer.on(event, () => {
          heartbeatFailure = undefined
        })
      }
    },

    heartbeatFailed(error: unknown): void {
      heartbeatFailure = reasonOf(error)
    },

    problems(): string[] {
      const waitedMs = time.now() - Math.min(...waitingSince.values())
      const quota =
        `kafka: a quota has held requests back for ${Math.round(waitedMs / 1_000)} s, and heartbeats with them: ` +
        remedy('consumer_byte_rate')
      const failures = heartbeatFailure === undefined ? [] : [`kafka: heartbeats fail: ${heartbeatFailure}`]
      return waitedMs > NAMED_AFTER_MS ? [quota, ...failures] : failures
    },
  }
}
