import { PreconditionError } from '../runtime/failures.ts'

/** An error of kafkajs. The error of the broker is among its causes. */
type KafkaError = { type?: string; name?: string; message?: string; cause?: unknown }

const AUTHORIZATION = /^(TOPIC|GROUP|CLUSTER)_AUTHORIZATION_FAILED$|^SASL_AUTHENTICATION_FAILED$/
const AUTHENTICATION = 'KafkaJSSASLAuthenticationError'
/**
 * kafkajs throws the same error when the connection is lost before the broker has checked the password; only the
 * message differs.
 */
const CONNECTION_LOST =
  /: (Closed connection|Connection error: .*|Connection timeout|Not connected|Request .* timed out)$/
/** kafkajs makes this of any response about the coordinator of a group, missing rights included. */
const NO_COORDINATOR = 'KafkaJSGroupCoordinatorNotFound'
const MAX_CAUSES = 10

/** The innermost cause is the last. */
function causesOf(error: unknown): KafkaError[] {
  const causes: KafkaError[] = []
  for (let cause = error as KafkaError | undefined; cause instanceof Error; cause = cause.cause as KafkaError) {
    if (causes.push(cause) > MAX_CAUSES) break
  }
  return causes
}

/**
 * Converts a lasting error of Kafka into a PreconditionError: a missing topic, missing rights or a wrong password.
 * Returns any other error, which may pass, unchanged or with a better message.
 */
export function preconditionErrorOf(error: unknown, topic: string): unknown {
  const causes = causesOf(error)
  if (causes.some(({ type }) => type === 'UNKNOWN_TOPIC_OR_PARTITION')) {
    return new PreconditionError(
      `topic ${topic} does not exist, or this user may not describe it: correct the name or the user's rights`,
      'topic-missing',
    )
  }
  const refusal = causes.find(
    ({ type, name, message = '' }) =>
      (name === AUTHENTICATION && !CONNECTION_LOST.test(message)) || (type !== undefined && AUTHORIZATION.test(type)),
  )
  if (causes.some(({ name }) => name === NO_COORDINATOR)) {
    return new Error('no broker coordinates the group at the moment, or this user may not read the group', {
      cause: error,
    })
  }
  if (refusal === undefined) return error
  return new PreconditionError(
    `Kafka refuses this user: ${refusal.message}. A consumer needs Read and Describe on the topic and Read on its ` +
      'group: correct its rights, or sasl and ssl',
    'not-authorized',
  )
}
