import { messageOf, PreconditionError } from '../runtime/failures.ts'

/**
 * Kafka, or the server that grants its tokens, refuses the user; the message says what to correct. It has no cause,
 * because kafkajs would then wrap the cause instead of this error.
 */
export class Refused extends Error {
  override name = 'Refused'
  /** For kafkajs: another attempt at once is refused, too. */
  readonly retriable = false

  // Without it, a cause could be given.
  constructor(message: string) {
    super(message)
  }
}

/** The server that grants Kafka's tokens does not respond with one; the message says what to correct. */
export class TokenMissing extends Error {
  override name = 'TokenMissing'
}

/** Certainly nothing of an append was written. The message, one of a closed set, says what to correct. */
export class AppendRefused extends Error {
  override name = 'AppendRefused'
}

/** The operations of Kafka's ACLs that are used here. */
export type Operation = 'Read' | 'Write' | 'Create' | 'Delete' | 'Describe' | 'DescribeConfigs' | 'AlterConfigs'

/** An error of kafkajs. The error of the broker is among its causes; `apiKey` is the refused request's. */
type KafkaError = Error & {
  type?: string
  broker?: string
  code?: unknown
  apiKey?: number
  cause?: unknown
  errors?: readonly unknown[]
}

const AUTHORIZATION = /^(TOPIC|GROUP|CLUSTER|TRANSACTIONAL_ID)_AUTHORIZATION_FAILED$/
const AUTHENTICATION = 'KafkaJSSASLAuthenticationError'
const NO_SASL_LISTENER = 'ILLEGAL_SASL_STATE'
const NO_SUCH_MECHANISM = 'UNSUPPORTED_SASL_MECHANISM'
/** kafkajs throws the same error for a connection lost before the password was checked, with another message. */
const CONNECTION_LOST =
  /: (Closed connection|Connection error: .*|Connection timeout|Not connected|Request .* timed out)$/
/** Node's code when the broker ends the TLS handshake, and its codes for a certificate that it does not accept. */
const TLS_ALERT = /^ERR_SSL_.*ALERT/
const CERTIFICATE = /CERT|ISSUER|VERIFY|ERR_TLS|^INVALID_/
const DATES = /^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/
const OTHER_HOST = 'ERR_TLS_CERT_ALTNAME_INVALID'
const TLS = /^ERR_SSL_/
const MAX_CAUSES = 10

const METADATA = 3
const INIT_PRODUCER_ID = 22
/** The operation that a request needs on the topic, by the API key of the request. */
const TOPIC_OPERATIONS: Record<number, Operation> = {
  0: 'Write',
  1: 'Read',
  8: 'Read',
  19: 'Create',
  // Brokers give an id to each user that may write to a topic.
  [INIT_PRODUCER_ID]: 'Write',
  24: 'Write',
  32: 'DescribeConfigs',
  33: 'AlterConfigs',
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

/** True if this error of Kafka is the error, or the first of several, or its cause. */
export const isOfType = (error: unknown, wanted: string): boolean => causesOf(error).some(({ type }) => type === wanted)

/** True if Kafka has responded, with an error. */
export const isReply = (error: unknown): boolean => causesOf(error).some(({ type }) => type !== undefined)

/** True if the message of a failed login says only that the connection was lost. */
export const connectionLost = (message: string): boolean => CONNECTION_LOST.test(message)

/**
 * What to correct, when the error says that Kafka refuses the user, the connection or what it asks for, or that the
 * broker's certificate is not accepted; undefined for any other error. A refusal ends when an operator corrects it.
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
  const { type = '', name, message, apiKey = -1, broker = 'a broker' } = cause
  if (cause instanceof Refused) return message
  if (name === AUTHENTICATION && !connectionLost(message))
    return 'Kafka refuses the login: correct the KAFKA_SASL settings'
  if (type === NO_SUCH_MECHANISM) return 'Kafka does not offer this SASL mechanism: correct KAFKA_SASL_MECHANISM'
  if (type === NO_SASL_LISTENER) {
    return (
      'Kafka expects no SASL login on this port: correct KAFKA_SECURITY_PROTOCOL or the port in KAFKA_BROKERS. Or it ' +
      'ends sessions in less than 2 s: raise its connections.max.reauth.ms'
    )
  }
  if (AUTHORIZATION.test(type)) {
    const isOnTopic = type.startsWith('TOPIC') || (type.startsWith('CLUSTER') && apiKey === INIT_PRODUCER_ID)
    const right = isOnTopic
      ? `${TOPIC_OPERATIONS[apiKey] ?? 'Describe'} on topic ${topic}`
      : type.startsWith('GROUP')
        ? `${GROUP_OPERATIONS[apiKey] ?? 'Read'} on group ${groupId}`
        : type.startsWith('CLUSTER')
          ? 'this on the cluster'
          : `Write on transactional ids that begin with ${topic}-restore-`
    return `Kafka refuses this user ${right}: add the ACL`
  }
  return name === 'KafkaJSConnectionError' ? tlsRefusalBy(String(cause.code), broker) : undefined
}

function tlsRefusalBy(code: string, broker: string): string | undefined {
  if (TLS_ALERT.test(code)) {
    return `${broker} refuses the TLS connection (${code}): correct KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE`
  }
  if (code === OTHER_HOST) {
    return `the certificate of ${broker} is for another address (${code}): connect to a name that it has, by KAFKA_BROKERS`
  }
  if (DATES.test(code)) {
    return `the certificate of ${broker} has expired or is not valid yet (${code}): renew it, or correct the clock of this host`
  }
  if (CERTIFICATE.test(code)) {
    return `the certificate of ${broker} is not accepted (${code}): correct KAFKA_SSL_CA_FILE`
  }
  return TLS.test(code)
    ? `${broker} does not reply with TLS (${code}): correct KAFKA_SECURITY_PROTOCOL or the port in KAFKA_BROKERS`
    : undefined
}

/** True if Kafka refuses the metadata of a topic. */
export const isTopicHidden = (error: unknown): boolean =>
  causesOf(error).some(({ type, apiKey }) => type === 'TOPIC_AUTHORIZATION_FAILED' && apiKey === METADATA)

/**
 * The kind of a refusal, after which nothing is written. 'records': another batch without the offending record can
 * succeed; 'permanent': an operator has to correct something; 'transient': another attempt can succeed soon.
 */
export type RefusalKind = 'records' | 'permanent' | 'transient'

/** The codes by which a leader refuses to append, and what to correct. */
const refusedAppends = (topic: string): Record<number, readonly [RefusalKind, string]> => ({
  // CORRUPT_MESSAGE: the checksum is verified before the append; the batch was damaged on its way.
  2: ['transient', 'a batch reached Kafka damaged: check the network'],
  // UNKNOWN_TOPIC_OR_PARTITION: the broker has no such partition. It may lag behind the controller.
  3: ['transient', `the broker does not know topic ${topic}: check that it exists and that this user may describe it`],
  // LEADER_NOT_AVAILABLE: comes from metadata only.
  5: ['transient', 'the partition has no leader: check that the brokers run'],
  // NOT_LEADER_OR_FOLLOWER: checked under the lock in which the leader appends.
  6: ['transient', 'the leader of the partition has changed: check that the brokers run'],
  // MESSAGE_TOO_LARGE: a batch above max.message.bytes.
  10: ['records', `the records are larger than Kafka accepts: raise max.message.bytes of topic ${topic}`],
  // INVALID_TOPIC_EXCEPTION: one of Kafka's internal topics.
  17: ['permanent', `Kafka accepts no records for topic ${topic}: correct the name`],
  // RECORD_LIST_TOO_LARGE: a batch larger than a segment.
  18: ['records', `the records are larger than a segment: raise segment.bytes of topic ${topic}`],
  // NOT_ENOUGH_REPLICAS: min.insync.replicas is checked before the append, too.
  19: ['transient', 'the partition has too few in-sync replicas: check that the brokers run'],
  // TOPIC_AUTHORIZATION_FAILED: checked for the whole request, before any append.
  29: ['permanent', `Kafka refuses this user Write on topic ${topic}: add the ACL`],
  // INVALID_TIMESTAMP: outside message.timestamp.before.max.ms and message.timestamp.after.max.ms.
  32: ['records', `Kafka does not accept the time of a record: correct the clock, or message.timestamp.* of ${topic}`],
  // UNSUPPORTED_FOR_MESSAGE_FORMAT: records with headers, and a topic in the format before Kafka 0.11.
  43: ['permanent', `topic ${topic} has the message format of an old Kafka: raise its message.format.version`],
  // INVALID_RECORD: found while the batch is validated, before the append.
  87: ['records', `Kafka does not accept a record: compare the settings of topic ${topic} with the documented ones`],
  // UNKNOWN_TOPIC_ID: the broker has no topic of this id. It may lag behind the controller.
  100: ['transient', `the broker does not know the id of topic ${topic}: check that it was not created again`],
})

const NOT_WRITTEN = '-1'

/**
 * The reason why a leader has certainly not written the records of a partition; undefined if it may have. Certain are
 * the codes above with base offset -1. A leader that has written the records knows their base offset and reports it
 * with any code by which the wait for the replicas ends (ReplicaManager.buildProducePartitionStatus, DelayedProduce): 3
 * and 6 when it loses the partition meanwhile, 7 REQUEST_TIMED_OUT, 20 NOT_ENOUGH_REPLICAS_AFTER_APPEND. Any other code
 * may come from the middle of an append: 56 KAFKA_STORAGE_ERROR, -1 UNKNOWN_SERVER_ERROR.
 */
export function refusedAppend(
  { errorCode, baseOffset }: { errorCode: number; baseOffset: string },
  topic: string,
): readonly [RefusalKind, string] | undefined {
  return baseOffset === NOT_WRITTEN ? refusedAppends(topic)[errorCode] : undefined
}

/**
 * Converts a lasting error of Kafka into a PreconditionError: a missing topic, missing rights or a wrong password.
 * Returns any other error, which may pass, unchanged.
 */
export function preconditionErrorOf(error: unknown, resources: Resources): unknown {
  if (isOfType(error, 'UNKNOWN_TOPIC_OR_PARTITION')) {
    return new PreconditionError(
      `topic ${resources.topic} does not exist, or this user may not describe it: correct the name or the user's rights`,
      'topic-missing',
    )
  }
  const refusal = refusalOf(error, resources)
  return refusal === undefined ? error : new PreconditionError(refusal, 'not-authorized')
}

/** The partition has no leader, so its end is unknown. */
export class NoLeader extends Error {
  override name = 'NoLeader'
  readonly type = 'LEADER_NOT_AVAILABLE'
}

const NO_CONNECTION = /^KafkaJS(?:Connection(?:Closed)?Error|NoBrokerAvailableError|BrokerNotFound)$/
/** kafkajs throws it as a plain Error. */
const NOT_CONNECTED = 'Broker not connected'
const TIMEOUT = /^KafkaJS(?:RequestTimeoutError|Timeout|LockTimeout)$/
/** Errors of a broker for which a reader here may wait or that a person can correct. */
const REPLIES: Record<string, string> = {
  NOT_ENOUGH_REPLICAS: 'Kafka has too few in-sync replicas (NOT_ENOUGH_REPLICAS): restore the brokers that are away',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    'Kafka has too few in-sync replicas (NOT_ENOUGH_REPLICAS_AFTER_APPEND): restore the brokers that are away',
  REQUEST_TIMED_OUT: 'Kafka has not finished the request in time (REQUEST_TIMED_OUT): check that no broker hangs',
  UNKNOWN_TOPIC_OR_PARTITION:
    'Kafka does not know the topic (UNKNOWN_TOPIC_OR_PARTITION): check that it exists and that this user may describe it',
  INVALID_TOPIC_EXCEPTION: 'Kafka accepts no topic of this name (INVALID_TOPIC_EXCEPTION): correct it',
  LEADER_NOT_AVAILABLE: 'Kafka elects a leader (LEADER_NOT_AVAILABLE): wait, or restore the brokers that are away',
  NOT_LEADER_FOR_PARTITION: 'Kafka elects a leader (NOT_LEADER_FOR_PARTITION): wait',
  GROUP_COORDINATOR_NOT_AVAILABLE:
    'Kafka has no coordinator for the consumer group (GROUP_COORDINATOR_NOT_AVAILABLE): wait, or restore the brokers ' +
    'that are away',
  GROUP_LOAD_IN_PROGRESS: 'Kafka loads the consumer group (GROUP_LOAD_IN_PROGRESS): wait',
  NOT_COORDINATOR_FOR_GROUP: 'the consumer group gets another coordinator (NOT_COORDINATOR_FOR_GROUP): wait',
  INCONSISTENT_GROUP_PROTOCOL:
    'another program uses the consumer group (INCONSISTENT_GROUP_PROTOCOL): name another group, or end the program',
  REBALANCE_IN_PROGRESS: 'the consumer group rebalances (REBALANCE_IN_PROGRESS): wait',
  UNKNOWN_MEMBER_ID:
    'the consumer group has expelled this process (UNKNOWN_MEMBER_ID): its heartbeats came too late; check whether a ' +
    'quota of Kafka throttles it or its CPU is busy',
}

/**
 * The reason of a failed request, for people: one of a closed set, each with its remedy, for an error of Kafka or its
 * client, whose text belongs into the log; the message of any other error.
 */
export function reasonOf(error: unknown, resources: Resources = {}): string {
  const causes = causesOf(error)
  // Its cause does not say which request was refused.
  const refusedAppend = causes.find((cause) => cause instanceof AppendRefused)?.message
  const ownText = refusedAppend ?? refusalOf(error, resources) ?? tokenProblemOf(error)
  if (ownText !== undefined) return ownText
  const type = causes.find((cause) => cause.type !== undefined)?.type
  if (type !== undefined) return REPLIES[type] ?? `Kafka responds with ${type}: see the logs of the brokers`
  const broker = causes.find((cause) => cause.broker !== undefined)?.broker
  const kafka = broker === undefined ? 'Kafka' : `Kafka at ${broker}`
  if (causes.some(({ name }) => TIMEOUT.test(name))) {
    return `${kafka} does not respond (timed out): check that it runs and is not overloaded`
  }
  if (causes.some(({ name, message }) => NO_CONNECTION.test(name) || message === NOT_CONNECTED)) {
    return `${kafka} is not reachable: check that it runs and that KAFKA_BROKERS is right`
  }
  const client = causes.find(({ name }) => name.startsWith('KafkaJS'))
  return client === undefined ? messageOf(error) : `the Kafka client fails (${client.name}): the log has the reason`
}

/** The reason why there is no token to log in to Kafka with; undefined for any other error. */
export const tokenProblemOf = (error: unknown): string | undefined =>
  causesOf(error).find((cause) => cause instanceof TokenMissing)?.message
