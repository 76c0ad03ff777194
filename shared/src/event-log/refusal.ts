import { PreconditionError } from '../process/failures.ts'

/** What Kafka answered, where kafkajs has it under the errors it made of it. */
type Told = { type?: string; name?: string; message?: string; cause?: unknown }

const AUTHORIZATION = /^(TOPIC|GROUP|CLUSTER)_AUTHORIZATION_FAILED$|^SASL_AUTHENTICATION_FAILED$/
const AUTHENTICATION = 'KafkaJSSASLAuthenticationError'
const MAX_CAUSES = 10

/** The innermost errors last. */
function causesOf(error: unknown): Told[] {
  const causes: Told[] = []
  for (let cause = error as Told | undefined; cause instanceof Error; cause = cause.cause as Told) {
    if (causes.push(cause) > MAX_CAUSES) break
  }
  return causes
}

/** Whether Kafka says that it has no such topic. */
export function isMissingTopic(error: unknown): boolean {
  return causesOf(error).some(({ type }) => type === 'UNKNOWN_TOPIC_OR_PARTITION')
}

/** A refusal of Kafka's that stands until somebody changes a right or a secret; any other error as it is. */
export function refusalOf(error: unknown): unknown {
  const told = causesOf(error).find(
    ({ type, name }) => name === AUTHENTICATION || (type !== undefined && AUTHORIZATION.test(type)),
  )
  if (told === undefined) return error
  return new PreconditionError(
    `Kafka refuses: ${told.message}. A consumer needs Read and Describe on the topic and Read on its group; see ` +
      'to its rights, and to sasl and ssl',
    'not-authorized',
  )
}
