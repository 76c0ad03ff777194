/**
 * Something that must hold of the settings, of Kafka or of Redis does not; nothing gets better by trying
 * again. The message says what to change.
 */
export class PreconditionError extends Error {
  override name = 'PreconditionError'
}
