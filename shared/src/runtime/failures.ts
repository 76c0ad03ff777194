/** What is wrong with the log, for callers that tell it apart. */
export type LogFault =
  | 'not-authorized'
  | 'topic-missing'
  | 'topic-truncated'
  | 'partitions-changed'
  | 'another-log'

/**
 * Something that must hold of the settings, of Kafka or of Redis does not; nothing gets better by trying
 * again. The message says what to change.
 */
export class PreconditionError extends Error {
  override name = 'PreconditionError'
  /** Undefined when it is not the log that is wrong. */
  readonly fault: LogFault | undefined

  constructor(message: string, fault?: LogFault) {
    super(message)
    this.fault = fault
  }
}

/** What was thrown, in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
