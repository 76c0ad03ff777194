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
  ['EACCES', 'you may not use it: correct its owner'],
  ['EPERM', 'you may not use it: correct its owner'],
  ['EEXIST', 'a file is in the way: use another folder'],
  ['ENOTDIR', 'a file is in the way: use another folder'],
])

/** @param {unknown} error */
export function describe(error) {
  if (error instanceof Failure) return error.message
  const { code = '', message, path, syscall } = /** @type {NodeJS.ErrnoException} */ (error ?? {})
  if (String(code).startsWith('ERR_PARSE_ARGS')) return `${message}. --help shows the options.`
  // A write names no path.
  const what = path ?? (syscall === 'write' ? 'A file cannot be written' : undefined)
  if (what !== undefined && FILE_REMEDIES.has(code)) return `${what}: ${FILE_REMEDIES.get(code)}.`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/**
 * Runs a program with the arguments of this process, or prints its help. `main` resolves to the exit code; it is
 * `failed` after an error, which is shown.
 *
 * @param {(args: string[]) => Promise<number>} main
 * @param {string} [help]
 */
export async function runProgram(main, help, failed = 1) {
  const args = process.argv.slice(2)
  if (help !== undefined && args.some((arg) => arg === '--help' || arg === '-h')) return void process.stdout.write(help)
  process.exitCode = await main(args).catch((error) => {
    console.error(describe(error))
    return failed
  })
}
