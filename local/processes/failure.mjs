/**
 * Something the reader of the message can act on: what was wrong and what to do next. Shown without a stack
 * trace; every other error is a defect of ours and keeps its trace.
 */
export class Failure extends Error {
  /** @override */
  name = 'Failure'
}

/**
 * @param {unknown} error
 * @returns {string}
 */
export function describe(error) {
  if (error instanceof Failure) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
