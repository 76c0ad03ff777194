import type { CliContext } from './command.ts'
import { safeOutput } from './terminal/safe-text.ts'

/** The reader of stdout has closed the pipe. */
export class ClosedPipe extends Error {
  override name = 'ClosedPipe'
}

/** SIGINT or SIGTERM ends the run. */
class Interrupted extends Error {
  override name = 'Interrupted'
}

const COLUMNS = 80
const ROWS = 24

/** The context that this process gives to a command. */
export function openCliContext(process: NodeJS.Process): CliContext {
  const { env, stdout, stderr } = process
  const interruption = new AbortController()
  const { signal } = interruption
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    // Only the first: a second signal ends the process at once.
    process.once(name, () => interruption.abort(new Interrupted(`interrupted by ${name}`)))
  }
  // A failed write to stdout rejects `print`. One to stderr can be reported nowhere.
  for (const stream of [stdout, stderr]) stream.on('error', () => {})

  const stdoutIsTerminal = stdout.isTTY === true
  const colours = stdoutIsTerminal && !env.NO_COLOR
  const print = (text: string) => write(stdout, safeOutput(text, colours), signal)

  return {
    env,
    signal,
    print,
    printResult: (text) =>
      print(text).catch((error: unknown) => {
        if (!(error instanceof ClosedPipe)) throw error
      }),
    printData: (text) => (stdoutIsTerminal ? print(text) : write(stdout, text, signal)),
    printError: (text) => void stderr.write(safeOutput(text, false)),
    draw: (text) => write(stdout, text, signal),
    drawError: (text) => void stderr.write(text),
    stdoutIsTerminal,
    stderrIsTerminal: stderr.isTTY === true,
    colours,
    get columns() {
      return sizeOf(stdout, stdout.columns, COLUMNS)
    },
    get rows() {
      return sizeOf(stdout, stdout.rows, ROWS)
    },
    get stderrColumns() {
      return sizeOf(stderr, stderr.columns, COLUMNS)
    },
  }
}

/** Some terminals do not know their size and report 0. */
function sizeOf({ isTTY }: NodeJS.WriteStream, reported: number, usual: number): number {
  return isTTY ? reported || usual : Number.POSITIVE_INFINITY
}

/** Resolves when the text has left this process; rejects when the write fails or the signal is aborted. */
async function write(stream: NodeJS.WriteStream, text: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort)
  stream.write(text, (error) => {
    if (!error) resolve()
    else reject((error as NodeJS.ErrnoException).code === 'EPIPE' ? new ClosedPipe() : error)
  })
  try {
    await promise
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
