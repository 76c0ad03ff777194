import type { Kafka, KafkaConfig, LogEntry } from 'kafkajs'
import { kafkajs } from '../kafka-client/kafkajs.ts'
import type { Log } from '../runtime/log.ts'

const CONNECTION_TIMEOUT_MS = 3_000
const REQUEST_TIMEOUT_MS = 5_000
const RETRIES = 5
const INITIAL_RETRY_MS = 100
const MAX_RETRY_MS = 2_000

export type { Kafka }

/** How to encrypt connections and to authenticate on them, as kafkajs takes it. */
export type Security = { ssl?: KafkaConfig['ssl'] | undefined; sasl?: KafkaConfig['sasl'] | undefined }

/** Connects nothing yet: producers, consumers and admins made from it do. */
export function createKafka(
  brokers: readonly string[],
  clientId: string,
  log: Log,
  { ssl, sasl }: Security = {},
): Kafka {
  return new kafkajs.Kafka({
    ...(ssl !== undefined && { ssl }),
    ...(sasl !== undefined && { sasl }),
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
