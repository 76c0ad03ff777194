#!/usr/bin/env node
import { ClosedPipe, openCliContext } from './cli-context.ts'
import { EXIT, type ExitCode, UsageError } from './command.ts'
import { COMMANDS, commandOf, overview, unknownCommand } from './commands.ts'
import { failureInWords } from './failure.ts'

// The operator's command line. Only what a command was asked for goes to stdout, so that scripts can read it.

const HELP = ['--help', '-h']

/** What is under way is given up when it does not end in this time: Kafka or Redis may not answer. */
const BREAK_OFF_WITHIN_MS = 5_000

const context = openCliContext(process)
context.signal.addEventListener('abort', () => {
  setTimeout(() => process.exit(EXIT.brokenOff), BREAK_OFF_WITHIN_MS).unref()
})
process.exit(await main(process.argv.slice(2)))

async function main(args: string[]): Promise<ExitCode> {
  const words = wordsOf(args)
  const name = commandOf(words)
  try {
    return await run(words, name, args)
  } catch (error) {
    if (context.signal.aborted) return EXIT.brokenOff
    // Who closes the pipe has all that it wants.
    if (error instanceof ClosedPipe) return EXIT.done
    const isUsage = error instanceof UsageError
    const more = name === undefined ? 'plantctl --help' : `plantctl ${name} --help`
    context.tell(`${failureInWords(error as Error)}\n${isUsage ? `More: ${more}\n` : ''}`)
    return isUsage ? EXIT.wronglyCalled : EXIT.failed
  }
}

async function run(words: string, name: string | undefined, args: string[]): Promise<ExitCode> {
  const command = name === undefined ? undefined : COMMANDS[name]
  if (args.some((arg) => HELP.includes(arg))) {
    await context.out(command?.help ?? overview(words))
    return EXIT.done
  }
  if (name === undefined || command === undefined) throw new UsageError(unknownCommand(words))
  const code = await command.run(args.slice(name.split(' ').length), context)
  return context.signal.aborted ? EXIT.brokenOff : code
}

/** What comes before the first option: it names a command. */
function wordsOf(args: readonly string[]): string {
  const options = args.findIndex((arg) => arg.startsWith('-'))
  return args.slice(0, options === -1 ? args.length : options).join(' ')
}
