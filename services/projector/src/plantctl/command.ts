/** One command of plantctl. */
export type Command = {
  /** What it is for, in a line. */
  summary: string
  help: string
  /** Resolves to what goes to stdout. Throws a UsageError when it was called wrongly. */
  run(args: string[]): string | Promise<string>
}

/** A command was called wrongly; the message says how it is called. */
export class UsageError extends Error {
  override name = 'UsageError'
}
