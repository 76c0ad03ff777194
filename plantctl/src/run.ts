import { reasonOf } from '@plant-store/shared/event-log/broker-errors.ts'
import { exitNow } from '@plant-store/shared/runtime/exit.ts'
import { onSignal } from '@plant-store/shared/runtime/signals.ts'
import { version } from '@plant-store/shared/runtime/version.ts'
import { ClosedPipe, openCliContext } from './cli-context.ts'
import { EXIT, type ExitCode, UsageError } from './command.ts'
import { COMMANDS, commandOf, overview, unknownCommand } from './commands.ts'

// The operator's command line. Only the result of a command goes to stdout, so that scripts can read it.

const HELP = ['--help', '-h']

/** An interrupted command that has not ended by then is abandoned: Kafka or Redis may not respond. */
const INTERRUPT_TIMEOUT_MS = 5_000

class Interrupted extends Error {
  override name = 'Interrupted'
}

const interruption = new AbortController()
onSignal((name) => {
  const end = () => exitNow(EXIT.interrupted)
  onSignal(end)
  setTimeout(end, INTERRUPT_TIMEOUT_MS).unref()
  interruption.abort(new Interrupted(`interrupted by ${name}`))
})
const context = openCliContext(process, interruption.signal)
const [first, ...others] = process.argv.slice(2)
exitNow(await main(first === 'help' ? [...others, '--help'] : process.argv.slice(2)))

async function main(args: string[]): Promise<ExitCode> {
  const words = wordsOf(args)
  const name = commandOf(words)
  try {
    return await run(words, name, args)
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

async function run(words: string, name: string | undefined, args: string[]): Promise<ExitCode> {
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
