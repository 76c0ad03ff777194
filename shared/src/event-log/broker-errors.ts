import { PreconditionError } from '../runtime/failures.ts'

/** What Kafka answered, where kafkajs has it under the errors it made of it. */
type Told = { type?: string; name?: string; message?: string; cause?: unknown }

const AUTHORIZATION = /^(TOPIC|GROUP|CLUSTER)_AUTHORIZATION_FAILED$|^SASL_AUTHENTICATION_FAILED$/
const AUTHENTICATION = 'KafkaJSSASLAuthenticationError'
/** kafkajs says the same of a connection that was lost before the broker came to look at the secret; only its words tell. */
const LOST =
  /: (Closed connection|Connection error: .*|Connection timeout|Not connected|Request .* timed out)$/
/** What kafkajs makes of any answer about a group's coordinator, a refusal too. */
const NO_COORDINATOR = 'KafkaJSGroupCoordinatorNotFound'
const MAX_CAUSES = 10

/** The innermost errors last. */
function causesOf(error: unknown): Told[] {
  const causes: Told[] = []
  for (let cause = error as Told | undefined; cause instanceof Error; cause = cause.cause as Told) {
    if (causes.push(cause) > MAX_CAUSES) break
  }
  return causes
}

/**
 * What Kafka answers that stands until somebody changes something, as a PreconditionError: the topic is missing, or a
 * right or a secret. Any other error, which may pass, as it is or in better words.
 */
export function preconditionErrorOf(error: unknown, topic: string): unknown {
  const causes = causesOf(error)
  if (causes.some(({ type }) => type === 'UNKNOWN_TOPIC_OR_PARTITION')) {
    return new PreconditionError(
      `topic ${topic} does not exist, or this consumer may not see it: name the topic that the service writes`,
      'topic-missing',
    )
  }
  const refused = causes.find(
    ({ type, name, message = '' }) =>
      (name === AUTHENTICATION && !LOST.test(message)) || (type !== undefined && AUTHORIZATION.test(type)),
  )
  if (causes.some(({ name }) => name === NO_COORDINATOR)) {
    return new Error('no broker coordinates the group at the moment, or this user may not read the group', {
      cause: error,
    })
  }
  if (refused === undefined) return error
  return new PreconditionError(
    `Kafka refuses: ${refused.message}. A consumer needs Read and Describe on the topic and Read on its group; see ` +
      'to its rights, and to sasl and ssl',
    'not-authorized',
  )
}
