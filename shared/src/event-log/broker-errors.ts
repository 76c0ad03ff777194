import { PreconditionError } from '../runtime/failures.ts'
import { Refused } from './refused.ts'

/** The operations of Kafka's ACLs that are used here. */
export type Operation = 'Read' | 'Write' | 'Create' | 'Delete' | 'Describe' | 'DescribeConfigs'

/** An error of kafkajs. The error of the broker is among its causes; `apiKey` is that of the refused request. */
type KafkaError = Error & {
  type?: string
  code?: unknown
  apiKey?: number
  cause?: unknown
  errors?: readonly unknown[]
}

const AUTHORIZATION = /^(TOPIC|GROUP|CLUSTER)_AUTHORIZATION_FAILED$/
const AUTHENTICATION = 'KafkaJSSASLAuthenticationError'
const NO_SASL_LISTENER = 'ILLEGAL_SASL_STATE'
const NO_SUCH_MECHANISM = 'UNSUPPORTED_SASL_MECHANISM'
/**
 * kafkajs throws the same error when the connection is lost before the broker has checked the password; only the
 * message differs.
 */
const CONNECTION_LOST =
  /: (Closed connection|Connection error: .*|Connection timeout|Not connected|Request .* timed out)$/
/** Node's code when the broker ends the TLS handshake, and its codes for a certificate that it does not accept. */
const TLS_ALERT = /^ERR_SSL_.*ALERT/
const CERTIFICATE = /CERT|ISSUER|VERIFY|ERR_TLS/
const TLS = /^ERR_SSL_/
const MAX_CAUSES = 10

const [PRODUCE, METADATA] = [0, 3]
/** The operation that a request needs on the topic, by the API key of the request. */
const TOPIC_OPERATIONS: Record<number, Operation> = {
  0: 'Write',
  1: 'Read',
  8: 'Read',
  19: 'Create',
  32: 'DescribeConfigs',
}
const GROUP_OPERATIONS: Record<number, Operation> = { 15: 'Describe', 42: 'Delete' }

/** The topic and the group that the request was about, for the message. */
export type Resources = { topic?: string; groupId?: string | undefined }

/** The innermost cause is the last. */
function causesOf(error: unknown): KafkaError[] {
  const causes: KafkaError[] = []
  let cause = error
  while (cause instanceof Error && causes.length < MAX_CAUSES) {
    const found: KafkaError = cause
    causes.push(found)
    cause = found.cause ?? found.errors?.[0]
  }
  return causes
}

/** Whether the message of a failed login says only that the connection was lost. */
export const connectionLost = (message: string): boolean => CONNECTION_LOST.test(message)

/**
 * What to correct, when the error says that Kafka refuses the user, the connection or what it asks for, or that the
 * broker's certificate is not accepted; undefined for any other error. A refusal ends when somebody corrects it.
 */
export function refusalOf(error: unknown, resources: Resources): string | undefined {
  for (const cause of causesOf(error)) {
    const refusal = refusalBy(cause, resources)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

function refusalBy(
  cause: KafkaError,
  { topic = 'of the store', groupId = 'of its own' }: Resources,
): string | undefined {
  const { type = '', name, message, apiKey = -1 } = cause
  if (cause instanceof Refused) return message
  if (name === AUTHENTICATION && !connectionLost(message)) return `Kafka refuses the login: ${message}`
  if (type === NO_SUCH_MECHANISM) return 'Kafka does not offer this SASL mechanism: correct KAFKA_SASL_MECHANISM'
  if (type === NO_SASL_LISTENER) {
    return (
      'Kafka expects no SASL login on this port: correct KAFKA_SECURITY_PROTOCOL or the port in KAFKA_BROKERS. Or it ' +
      'ends sessions in less than 2 s: raise its connections.max.reauth.ms'
    )
  }
  if (AUTHORIZATION.test(type)) {
    const right = type.startsWith('TOPIC')
      ? `${TOPIC_OPERATIONS[apiKey] ?? 'Describe'} on topic ${topic}`
      : type.startsWith('GROUP')
        ? `${GROUP_OPERATIONS[apiKey] ?? 'Read'} on group ${groupId}`
        : 'this on the cluster'
    return `Kafka refuses this user ${right}: add the ACL`
  }
  return name === 'KafkaJSConnectionError' ? tlsRefusalBy(String(cause.code), message) : undefined
}

function tlsRefusalBy(code: string, text: string): string | undefined {
  // OpenSSL adds places in its source, and a line break.
  const message = text.replace(/^.*:SSL routines:[^:]*:([^:]*):.*$/s, '$1')
  if (TLS_ALERT.test(code)) {
    return `Kafka refuses the TLS connection (${message}): correct KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE`
  }
  if (CERTIFICATE.test(code)) {
    return `the broker's certificate is not accepted (${message}): correct KAFKA_SSL_CA_FILE or KAFKA_BROKERS`
  }
  return TLS.test(code)
    ? `the broker does not reply with TLS (${message}): correct KAFKA_SECURITY_PROTOCOL or the port in KAFKA_BROKERS`
    : undefined
}

/** Whether Kafka refuses the metadata of a topic. */
export const isTopicHidden = (error: unknown): boolean =>
  causesOf(error).some(({ type, apiKey }) => type === 'TOPIC_AUTHORIZATION_FAILED' && apiKey === METADATA)

/**
 * Whether a produce request that failed with this error was certainly not appended, in none of its partitions: the user
 * was refused before the request was sent, or by the broker. Kafka checks the right to write a topic once for all its
 * partitions in a request, before it appends to any of them, and a request here has one topic. Another broker may
 * decide otherwise.
 */
export function isProduceRefused(error: unknown): boolean {
  return causesOf(error).some(
    (cause) => cause instanceof Refused || (cause.type === 'TOPIC_AUTHORIZATION_FAILED' && cause.apiKey === PRODUCE),
  )
}

/**
 * Converts a lasting error of Kafka into a PreconditionError: a missing topic, missing rights or a wrong password.
 * Returns any other error, which may pass, unchanged.
 */
export function preconditionErrorOf(error: unknown, resources: Resources): unknown {
  if (causesOf(error).some(({ type }) => type === 'UNKNOWN_TOPIC_OR_PARTITION')) {
    return new PreconditionError(
      `topic ${resources.topic} does not exist, or this user may not describe it: correct the name or the user's rights`,
      'topic-missing',
    )
  }
  const refusal = refusalOf(error, resources)
  return refusal === undefined ? error : new PreconditionError(refusal, 'not-authorized')
}
