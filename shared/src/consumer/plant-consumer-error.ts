import { type LogFault, messageOf, PreconditionError } from '../runtime/failures.ts'

/**
 * Why a consumer does not begin, or can't go on:
 * - `invalid-options`: what it was given is wrong; nothing was connected.
 * - `kafka-unreachable`: no broker answered while it began.
 * - `not-authorized`: Kafka refuses it.
 * - `topic-missing`: there is no such topic.
 * - `topic-truncated`: the topic lost its first events, and nobody can tell who claimed which id first.
 * - `partitions-changed`: the topic has not as many partitions as before, and ids have moved.
 * - `another-log`: the topic does not hold what was read of it before.
 * - `first-claims`: what keeps the first claims can't be used.
 * - `unexpected`: an error in this package; see its cause.
 */
export type PlantConsumerErrorCode =
  | LogFault
  | 'invalid-options'
  | 'kafka-unreachable'
  | 'first-claims'
  | 'unexpected'

/** The message says what to do; `cause` is what it was made of. */
export class PlantConsumerError extends Error {
  override name = 'PlantConsumerError'
  readonly code: PlantConsumerErrorCode

  constructor(code: PlantConsumerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The error of the consumer's own that says the same; `otherwise` is the code of what is no PreconditionError. */
export function consumerErrorOf(error: unknown, otherwise: PlantConsumerErrorCode): PlantConsumerError {
  if (error instanceof PlantConsumerError) return error
  // What must hold and is not about the log is about what keeps the first claims: a handler's errors do not come here.
  const code = error instanceof PreconditionError ? (error.fault ?? 'first-claims') : otherwise
  const message =
    code === 'kafka-unreachable'
      ? `Kafka does not answer (${messageOf(error)}): see that brokers are its addresses, and can be reached from here`
      : messageOf(error)
  return new PlantConsumerError(code, message, { cause: error })
}
