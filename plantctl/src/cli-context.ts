import type { CliContext } from './command.ts'

/** Nobody reads any more what is written to stdout. */
export class ClosedPipe extends Error {
  override name = 'ClosedPipe'
}

/** A person, or a supervisor, wants the run to end. */
class BrokenOff extends Error {
  override name = 'BrokenOff'
}

const COLUMNS = 80
const ROWS = 24

/** What this process gives a command. */
export function openCliContext(process: NodeJS.Process): CliContext {
  const { env, stdout, stderr } = process
  const breakingOff = new AbortController()
  const { signal } = breakingOff
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    // Once: a second one ends the process, whatever it is doing.
    process.once(name, () => breakingOff.abort(new BrokenOff(`broken off by ${name}`)))
  }
  // Errors of stdout are told to who writes; those of stderr can be told to nobody.
  for (const stream of [stdout, stderr]) stream.on('error', () => {})

  return {
    ...{ env, signal },
    out: (text) => written(stdout, text, signal),
    tell: (text) => void stderr.write(text),
    isTerminal: stdout.isTTY === true,
    isWatched: stderr.isTTY === true,
    colours: stdout.isTTY === true && !env.NO_COLOR,
    get columns() {
      return sizeOf(stdout, stdout.columns, COLUMNS)
    },
    get rows() {
      return sizeOf(stdout, stdout.rows, ROWS)
    },
    get tellColumns() {
      return sizeOf(stderr, stderr.columns, COLUMNS)
    },
  }
}

/** Some terminals do not know their size, and say 0. */
function sizeOf({ isTTY }: NodeJS.WriteStream, told: number, usual: number): number {
  return isTTY ? told || usual : Number.POSITIVE_INFINITY
}

/** Resolves when the text has left this process; rejects when that can't be, or nobody waits for it any more. */
async function written(stream: NodeJS.WriteStream, text: string, signal: AbortSignal): Promise<void> {
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
