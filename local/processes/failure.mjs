/**
 * An error that the user can act on: its message says what is wrong and what to do. It is shown without a stack trace;
 * any other error is a defect of this program and is shown with its trace.
 */
export class Failure extends Error {
  /** @override */
  name = 'Failure'
}

/** @param {unknown} error */
export function describe(error) {
  if (error instanceof Failure) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
