import { reasonOf } from '../event-log/broker-errors.ts'
import { type LogFault, PreconditionError } from '../runtime/failures.ts'

/**
 * The reason why a consumer does not start or cannot continue, or why a wait for a position ends:
 * - `invalid-options`: an option is missing or invalid; nothing was connected.
 * - `kafka-unreachable`: no broker replied at the start.
 * - `not-authorized`: Kafka denies access.
 * - `topic-missing`: the topic does not exist.
 * - `topic-truncated`: the topic has lost its first events, so that the first claims are not known.
 * - `partitions-changed`: the partition count of the topic has changed, and ids have moved.
 * - `another-log`: the topic does not contain what was read from it before.
 * - `undecodable-batch`: a replay has come to a batch that cannot be decoded.
 * - `first-claims`: the stored first claims cannot be used.
 * - `invalid-position`: a text is not a position of this log.
 * - `stopped`: the consumer was stopped during a wait, or before it.
 * - `unexpected`: an error in this package; see its cause.
 */
export type PlantConsumerErrorCode =
  | LogFault
  | ('invalid-options' | 'kafka-unreachable' | 'first-claims' | 'invalid-position' | 'stopped' | 'unexpected')

/** The message says what to do. `cause` is the underlying error. */
export class PlantConsumerError extends Error {
  override name = 'PlantConsumerError'
  readonly code: PlantConsumerErrorCode

  constructor(code: PlantConsumerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The remedy when the log is not the one that was read before. */
export const REMEDY =
  'the topic was recreated or lost its end, or this is another cluster. Restore the topic, or correct brokers and ' +
  'topic; or, if the log is the right one, start with another group and new first claims'

/** The error as a PlantConsumerError. An error that is not a PreconditionError gets the code `fallback`. */
export function consumerErrorOf(error: unknown, fallback: PlantConsumerErrorCode): PlantConsumerError {
  if (error instanceof PlantConsumerError) return error
  // A precondition that is not about the log is about the stored first claims: errors of handlers do not get here.
  const code = error instanceof PreconditionError ? (error.fault ?? 'first-claims') : fallback
  return new PlantConsumerError(code, messageFor(code, reasonOf(error)), { cause: error })
}

function messageFor(code: PlantConsumerErrorCode, reason: string): string {
  if (code === 'not-authorized') {
    return `${reason}. A consumer needs Read and Describe on the topic and Read on its group`
  }
  if (code === 'kafka-unreachable') {
    return `Kafka does not reply (${reason}): check that brokers has its addresses and that they are reachable`
  }
  return reason
}
