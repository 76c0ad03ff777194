/**
 * An error that the user can act on: its message says what is wrong and what to do. It is shown without a stack trace;
 * any other error is a defect of this program and is shown with its trace.
 */
export class Failure extends Error {
  /** @override */
  name = 'Failure'
}

const FILE_REMEDIES = new Map([
  ['ENOSPC', 'the disk is full: free space'],
  ['EDQUOT', 'your quota of the disk is used up: free space'],
  ['EROFS', 'the disk can only be read: use another folder'],
  ['EACCES', 'you may not write there: correct its owner'],
  ['EPERM', 'you may not write there: correct its owner'],
])

/** @param {unknown} error */
export function describe(error) {
  if (error instanceof Failure) return error.message
  const { code = '', path } = /** @type {NodeJS.ErrnoException} */ (error ?? {})
  if (path !== undefined && FILE_REMEDIES.has(code)) return `${path}: ${FILE_REMEDIES.get(code)}.`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
