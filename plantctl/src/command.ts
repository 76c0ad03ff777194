/** Exit codes of plantctl; `plantctl --help` explains them. */
export const EXIT = { ok: 0, failed: 1, usage: 2, problems: 3, interrupted: 130 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** One command of plantctl. */
export type Command = {
  /** One line for the list of commands. */
  summary: string
  /** The text of `--help`: examples, options, output, exit codes. */
  help: string
  /**
   * Throws a UsageError for wrong arguments, and any other error when the command fails; its message names the cause
   * and the remedy. Ends soon after `context.signal` is aborted, whatever it returns: the exit code is then 130.
   */
  run(args: readonly string[], context: CliContext): Promise<ExitCode>
}

/** The environment in which a command runs. */
export type CliContext = {
  env: NodeJS.ProcessEnv
  /**
   * Writes the result of a command to stdout, safe for a terminal; resolves when more may be written. Rejects when the
   * reader has closed the pipe (`| head`): the run then ends quietly.
   */
  print(text: string): Promise<void>
  /** As `print`, where the exit code has the result, too: a reader that has closed the pipe does not change it. */
  printResult(text: string): Promise<void>
  /** As `print`, but a program gets each byte unchanged; only a terminal gets escaped text. */
  printData(text: string): Promise<void>
  /** Writes warnings and hints to stderr, safe for a terminal. */
  printError(text: string): void
  /** Writes to stdout unchanged, for a terminal: `text` has its control sequences. */
  draw(text: string): Promise<void>
  /** As `draw`, to stderr. */
  drawError(text: string): void
  stdoutIsTerminal: boolean
  /** Progress may be redrawn in place. */
  stderrIsTerminal: boolean
  /** Stdout may be coloured: it is a terminal, and NO_COLOR is not set. */
  colours: boolean
  /** Current width of stdout's terminal; infinite without a terminal, so that nothing is shortened. */
  readonly columns: number
  /** Current height of stdout's terminal; infinite without one. */
  readonly rows: number
  /** Current width of stderr's terminal; infinite without one. */
  readonly stderrColumns: number
  /** Aborted by SIGINT (Ctrl-C) or SIGTERM; a second signal ends the process at once. */
  signal: AbortSignal
}

/** Wrong arguments; the message says what is expected. */
export class UsageError extends Error {
  override name = 'UsageError'
}
