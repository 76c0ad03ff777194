import { reasonOf } from '@plant-store/shared/event-log/broker-errors.ts'
import { version } from '@plant-store/shared/runtime/version.ts'
import { type CliContext, ClosedPipe } from './cli-context.ts'
import { EXIT, type ExitCode, UsageError } from './command.ts'
import { COMMANDS, commandOf, overview, unknownCommand } from './commands.ts'

const HELP = ['--help', '-h']

/** Runs the command that the words name. Resolves with its exit code, after a failure has been printed. */
export async function runCommand(args: readonly string[], context: CliContext): Promise<ExitCode> {
  const { print, printError, signal } = context
  const words = wordsOf(args)
  const name = commandOf(words)
  const command = name === undefined ? undefined : COMMANDS[name]
  try {
    if (args.some((arg) => HELP.includes(arg))) await print(command?.help ?? overview())
    else if (args[0] === '--version') await print(`${version}\n`)
    else if (name === undefined || command === undefined) throw new UsageError(unknownCommand(words))
    else {
      const code = await command.run(args.slice(name.split(' ').length), context)
      return signal.aborted ? EXIT.interrupted : code
    }
    return EXIT.ok
  } catch (error) {
    if (signal.aborted) return EXIT.interrupted
    // A reader that closes the pipe has all that it wants.
    if (error instanceof ClosedPipe) return EXIT.ok
    const isUsage = error instanceof UsageError
    const help = name === undefined ? 'plantctl --help' : `plantctl ${name} --help`
    printError(`${reasonOf(error)}\n${isUsage ? `See ${help}\n` : ''}`)
    return isUsage ? EXIT.usage : EXIT.failed
  }
}

/** The words before the first option: they name a command. */
function wordsOf(args: readonly string[]): string {
  const options = args.findIndex((arg) => arg.startsWith('-'))
  return args.slice(0, options === -1 ? args.length : options).join(' ')
}
