import type { CliContext } from './cli-context.ts'

/** Exit codes of plantctl; `plantctl --help` explains them. */
export const EXIT = { ok: 0, failed: 1, usage: 2, problems: 3, interrupted: 130 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export type Command = {
  summary: string
  /** The text of `--help`: examples, options, output, exit codes. */
  help: string
  /**
   * Throws a UsageError for wrong arguments, and any other error when the command fails; its message names the cause
   * and the remedy. Ends soon after `context.signal` is aborted, whatever it returns: the exit code is then 130.
   */
  run(args: readonly string[], context: CliContext): Promise<ExitCode>
}

/** Wrong arguments; the message says what is expected. */
export class UsageError extends Error {
  override name = 'UsageError'
}
