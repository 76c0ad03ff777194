import kafkajs, { type Kafka, type LogEntry } from 'kafkajs'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import type { Log } from '../process/log.ts'

const CONNECTION_TIMEOUT_MS = 3_000
const REQUEST_TIMEOUT_MS = 8_000
const RETRIES = 5
const INITIAL_RETRY_MS = 100
const MAX_RETRY_MS = 2_000
const PENDING_CHECK_MS = 10

export type { Kafka }

/** Connects nothing yet: producers, consumers and admins made from it do. */
export function createKafka(brokers: readonly string[], clientId: string, log: Log): Kafka {
  correctBusyTimer()
  return new kafkajs.Kafka({
    clientId,
    brokers: [...brokers],
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    enforceRequestTimeout: true,
    retry: { retries: RETRIES, initialRetryTime: INITIAL_RETRY_MS, maxRetryTime: MAX_RETRY_MS },
    logLevel: kafkajs.logLevel.INFO,
    logCreator: () => (entry) => writeEntry(log, entry),
  })
}

// kafkajs reports as errors what it then retries, and crashes that the callers here report themselves.
// So its own voice is lowered: nothing above a warning, joins and stops in the debug log only.
function writeEntry(log: Log, { namespace, level, log: details }: LogEntry): void {
  const line = `kafka${namespace === '' ? '' : ` ${namespace}`}: ${details.message}`
  const { error, groupId, broker, retryCount } = details
  const context = { error, groupId, broker, retryCount }
  if (level === kafkajs.logLevel.ERROR || level === kafkajs.logLevel.WARN) log.warn(context, line)
  else log.debug(context, line)
}

/**
 * kafkajs 2.2.4 re-arms a timer of about 1 ms for ever on each connection: some 900 wake-ups a second
 * and a TimeoutNegativeWarning on current Node. This one is armed only while requests wait.
 */
function correctBusyTimer(): void {
  RequestQueue.prototype.scheduleCheckPendingRequests = function schedule() {
    if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return
    const throttledMs = this.throttledUntil - Date.now()
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null
        this.checkPendingRequests()
      },
      Math.max(throttledMs, PENDING_CHECK_MS),
    )
  }
}
