import type { ConsumerConfig, ISocketFactory, Kafka, KafkaConfig, LogEntry } from 'kafkajs'
import { type ExtendedAdmin, kafkajs } from '../kafka-client/kafkajs.ts'

/** The limit of TCP, TLS, the API versions and the login together. */
const CONNECTION_TIMEOUT_MS = 2_000
const REQUEST_TIMEOUT_MS = 5_000
const RETRIES = 5
const INITIAL_RETRY_MS = 100
const MAX_RETRY_MS = 2_000

export type { Kafka }
/** The log for the lines of kafkajs. */
export type KafkaLog = Record<'debug' | 'warn', (details: object, message: string) => void>

/** Encryption and authentication of connections, as kafkajs expects them, and the rack that consumers read in. */
export type Security = {
  ssl?: KafkaConfig['ssl'] | undefined
  sasl?: KafkaConfig['sasl'] | undefined
  socketFactory?: ISocketFactory | undefined
  rackId?: string | undefined
}

/** Makes a client without connecting: its producers, consumers and admins connect. */
export function createKafka(
  brokers: readonly string[],
  clientId: string,
  log: KafkaLog,
  { ssl, sasl, socketFactory, rackId }: Security = {},
): Kafka {
  const kafka = new kafkajs.Kafka({
    ...(ssl !== undefined && { ssl }),
    ...(sasl !== undefined && { sasl }),
    ...(socketFactory !== undefined && { socketFactory }),
    clientId,
    brokers: [...brokers],
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    enforceRequestTimeout: true,
    retry: { retries: RETRIES, initialRetryTime: INITIAL_RETRY_MS, maxRetryTime: MAX_RETRY_MS },
    logLevel: kafkajs.logLevel.INFO,
    logCreator: () => (entry) => writeEntry(log, entry),
  })
  if (rackId === undefined) return kafka
  const { consumer } = kafka
  return Object.assign(kafka, { consumer: (config: ConsumerConfig) => consumer.call(kafka, { rackId, ...config }) })
}

/** A new Kafka has no coordinators of groups until it has created their topic; the join is tried again. */
const COORDINATOR_LATER = 'The group coordinator is not available'

// kafkajs logs errors that it then retries, and crashes that its callers here log themselves. So its errors become
// warnings, and joins and stops go to the debug log.
function writeEntry(log: KafkaLog, { namespace, level, log: details }: LogEntry): void {
  const line = `kafka${namespace === '' ? '' : ` ${namespace}`}: ${details.message}`
  const { error, groupId, broker, retryCount } = details
  const context = { error, groupId, broker, retryCount }
  const isProblem = level === kafkajs.logLevel.ERROR || level === kafkajs.logLevel.WARN
  if (isProblem && error !== COORDINATOR_LATER) log.warn(context, line)
  else log.debug(context, line)
}

export async function withAdmin<T>(kafka: Kafka, use: (admin: ExtendedAdmin) => Promise<T>): Promise<T> {
  const admin = kafka.admin() as ExtendedAdmin
  try {
    await admin.connect()
    return await use(admin)
  } finally {
    await admin.disconnect()
  }
}
