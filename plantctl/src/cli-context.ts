import { getSystemErrorMessage } from 'node:util'
import { abortable } from '@plant-store/shared/runtime/time.ts'
import { safeOutput } from './terminal/safe-text.ts'

/** Stdout takes nothing more; the message says what to correct. */
export class OutputError extends Error {
  override name = 'OutputError'
}

/** The reader of stdout has closed the pipe. */
export class ClosedPipe extends OutputError {
  override name = 'ClosedPipe'
}

const CLEAR_LINE = '\r\x1b[K'
const COLUMNS = 80
const ROWS = 24

export type CliContext = ReturnType<typeof openCliContext>

/** The context that a process gives to a command. `signal` interrupts it. */
export function openCliContext({ env, stdout, stderr }: NodeJS.Process, signal: AbortSignal) {
  // A failed write to stdout rejects `print`. One to stderr can be reported nowhere.
  for (const stream of [stdout, stderr]) stream.on('error', () => {})

  // A dumb terminal shows control sequences as text.
  const takesControl = ({ isTTY }: NodeJS.WriteStream) => isTTY === true && env.TERM !== 'dumb'
  const stdoutIsTerminal = takesControl(stdout)
  const colours = stdoutIsTerminal && !env.NO_COLOR
  const stderrColumns = () => sizeOf(stderr, stderr.columns, COLUMNS)
  let progressLine = ''
  const clearLine = () => (progressLine === '' ? '' : CLEAR_LINE)
  const print = (text: string) => write(stdout, safeOutput(text, colours), signal)

  return {
    env,
    /** Aborted by SIGINT (Ctrl-C) or SIGTERM; a second signal ends the process at once. */
    signal,
    /**
     * Writes the result of a command to stdout, safe for a terminal; resolves when more may be written. Rejects when
     * the reader has closed the pipe (`| head`): the run then ends quietly.
     */
    print,
    /** As `print`, where the exit code has the result, too: a reader that has closed the pipe does not change it. */
    printResult: (text: string) =>
      print(text).catch((error: unknown) => {
        if (!(error instanceof ClosedPipe)) throw error
      }),
    /** As `print`, but a program gets each byte unchanged; only a terminal gets escaped text. */
    printData: (text: string) => (stdout.isTTY ? print(text) : write(stdout, text, signal)),
    /** Writes messages to stderr, above the progress line. */
    printError(text: string): void {
      stderr.write(clearLine() + safeOutput(text, false) + progressLine)
    },
    /** Draws the last line of the terminal in place, on stderr. */
    drawProgress(line: string): void {
      const clear = clearLine()
      // A line of the terminal's full width would wrap.
      const shown = Array.from(safeOutput(line, false)).slice(0, stderrColumns() - 1)
      progressLine = shown.join('')
      stderr.write(clear + progressLine)
    },
    /** The progress line stays on the screen. */
    endProgress(): void {
      progressLine = ''
      stderr.write('\n')
    },
    /** Writes to stdout unchanged, for a terminal: `text` has its control sequences. */
    draw: (text: string) => write(stdout, text, signal),
    stdoutIsTerminal,
    /** Progress may be redrawn in place. */
    stderrIsTerminal: takesControl(stderr),
    /** Stdout may be coloured: it is a terminal, and NO_COLOR is not set. */
    colours,
    /** Current size of a terminal; infinite without one, so that nothing is shortened. */
    get columns() {
      return sizeOf(stdout, stdout.columns, COLUMNS)
    },
    get rows() {
      return sizeOf(stdout, stdout.rows, ROWS)
    },
    get stderrColumns() {
      return stderrColumns()
    },
  }
}

/** Some terminals do not know their size and report 0. */
function sizeOf({ isTTY }: NodeJS.WriteStream, reported: number, usual: number): number {
  return isTTY ? reported || usual : Number.POSITIVE_INFINITY
}

/** Resolves when the text has left this process; rejects when the write fails or the signal is aborted. */
function write(stream: NodeJS.WriteStream, text: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  stream.write(text, (error) => {
    if (error) reject(outputError(error))
    else resolve()
  })
  return abortable(promise, signal)
}

function outputError(error: NodeJS.ErrnoException): OutputError {
  return error.code === 'EPIPE' ? new ClosedPipe() : new OutputError(`stdout cannot be written: ${correctionOf(error)}`)
}

/** The reason why a file cannot be used, and the remedy. A stream that this process has closed has no error number. */
export function correctionOf({ errno }: NodeJS.ErrnoException): string {
  return `${errno === undefined ? 'it is closed' : getSystemErrorMessage(errno)}. Correct it and run this again`
}
