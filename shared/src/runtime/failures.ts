/** The kinds of faults of the log, for callers that distinguish them. */
export type LogFault =
  | 'not-authorized'
  | 'topic-missing'
  | 'topic-truncated'
  | 'partitions-changed'
  | 'another-log'
  | 'undecodable-batch'

/** A precondition does not hold, and a retry cannot help. The message says what to change. */
export class PreconditionError extends Error {
  override name = 'PreconditionError'
  /** Undefined when the fault is not one of the log. */
  readonly fault: LogFault | undefined

  constructor(message: string, fault?: LogFault) {
    super(message)
    this.fault = fault
  }
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
