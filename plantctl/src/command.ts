/** What ends a run of plantctl; its overview says what they mean. */
export const EXIT = { done: 0, failed: 1, wronglyCalled: 2, notAsItShouldBe: 3, brokenOff: 130 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** One command of plantctl. */
export type Command = {
  /** What it is for, in a line. */
  summary: string
  /** Examples, options, what the output means, exit codes. */
  help: string
  /**
   * Throws a UsageError when it was called wrongly, and any other error when it could not be done: its message says why
   * and what to do. Ends soon after `context.signal` is aborted, in whatever way: that is code 130.
   */
  run(args: readonly string[], context: CliContext): Promise<ExitCode>
}

/** What a command has around it. */
export type CliContext = {
  env: NodeJS.ProcessEnv
  /**
   * Writes to stdout, as it is, what the command was asked for; resolves when it may go on. Rejects when nobody reads
   * any more (`| head`): the run then ends quietly.
   */
  out(text: string): Promise<void>
  /** Writes to stderr, as it is: progress, warnings, words for a person. */
  tell(text: string): void
  /** Stdout is a terminal. */
  isTerminal: boolean
  /** Stderr is a terminal: a person sees progress there, and it may be redrawn. */
  isWatched: boolean
  /** Stdout may be coloured: a terminal, and no NO_COLOR. */
  colours: boolean
  /** Width of the terminal now; infinite where there is none, for then nothing is to be shortened. */
  readonly columns: number
  /** Its height now; infinite likewise. */
  readonly rows: number
  /** Width of the terminal that stderr is, likewise. */
  readonly tellColumns: number
  /** Aborted by SIGINT (Ctrl-C) or SIGTERM; a second one ends the process at once. */
  signal: AbortSignal
}

/** A command was called wrongly; the message says how it is called. */
export class UsageError extends Error {
  override name = 'UsageError'
}
