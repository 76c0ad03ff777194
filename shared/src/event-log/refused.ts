/**
 * Kafka, or the server that grants its tokens, refuses the user; the message says what to correct. It has no cause,
 * because kafkajs would then wrap the cause instead of this error.
 */
export class Refused extends Error {
  override name = 'Refused'
  /** For kafkajs: another attempt at once is refused, too. */
  readonly retriable = false
}
