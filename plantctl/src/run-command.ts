import { reasonOf } from '@plant-store/shared/event-log/broker-errors.ts'
import { version } from '@plant-store/shared/runtime/version.ts'
import { type CliContext, ClosedPipe } from './cli-context.ts'
import { EXIT, type ExitCode, UsageError } from './command.ts'
import { COMMANDS, commandOf, overview, unknownCommand } from './commands.ts'

const HELP = ['--help', '-h']

/** Runs the command that the words name. Resolves with its exit code, after a failure has been printed. */
export async function runCommand(args: readonly string[], context: CliContext): Promise<ExitCode> {
  const words = wordsOf(args)
  const name = commandOf(words)
  try {
    return await run(words, name, args, context)
  } catch (error) {
    if (context.signal.aborted) return EXIT.interrupted
    // A reader that closes the pipe has all that it wants.
    if (error instanceof ClosedPipe) return EXIT.ok
    const isUsage = error instanceof UsageError
    const help = name === undefined ? 'plantctl --help' : `plantctl ${name} --help`
    context.printError(`${reasonOf(error)}\n${isUsage ? `See ${help}\n` : ''}`)
    return isUsage ? EXIT.usage : EXIT.failed
  }
}

async function run(
  words: string,
  name: string | undefined,
  args: readonly string[],
  context: CliContext,
): Promise<ExitCode> {
  const command = name === undefined ? undefined : COMMANDS[name]
  if (args.some((arg) => HELP.includes(arg))) {
    await context.print(command?.help ?? overview())
    return EXIT.ok
  }
  if (args[0] === '--version') {
    await context.print(`${version}\n`)
    return EXIT.ok
  }
  if (name === undefined || command === undefined) throw new UsageError(unknownCommand(words))
  const code = await command.run(args.slice(name.split(' ').length), context)
  return context.signal.aborted ? EXIT.interrupted : code
}

/** The words before the first option: they name a command. */
function wordsOf(args: readonly string[]): string {
  const options = args.findIndex((arg) => arg.startsWith('-'))
  return args.slice(0, options === -1 ? args.length : options).join(' ')
}
