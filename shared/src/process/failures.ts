/**
 * Something that must hold of the settings, of Kafka or of Redis does not; nothing gets better by trying
 * again. The message says what to change.
 */
export class PreconditionError extends Error {
  override name = 'PreconditionError'
}

/** What was thrown, in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
