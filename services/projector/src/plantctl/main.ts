import { type Command, UsageError } from './command.ts'
import { tokenCreate } from './token-create.ts'

// The operator's command line. Only what a command has to tell goes to stdout, so that scripts can read it.

const COMMANDS: Record<string, Command> = {
  'token create': tokenCreate,
}
const WRONG_USAGE = 2
const FAILED = 1
const HELP = ['--help', '-h']

process.exitCode = await main(process.argv.slice(2))

/** Returns the exit code: 0, 2 when called wrongly, 1 for any other failure. */
async function main(args: string[]): Promise<number> {
  const words = wordsOf(args)
  const name = Object.keys(COMMANDS).find((known) => `${words} `.startsWith(`${known} `))
  const command = name === undefined ? undefined : COMMANDS[name]
  try {
    if (args.some((arg) => HELP.includes(arg))) {
      process.stdout.write(command?.help ?? overview(words))
      return 0
    }
    if (name === undefined || command === undefined) throw new UsageError(unknown(words))
    process.stdout.write(await command.run(args.slice(name.split(' ').length)))
    return 0
  } catch (error) {
    const { message, code } = error as Error & { code?: string }
    const isUsage = error instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS') === true
    const more = command === undefined ? 'plantctl --help' : `plantctl ${name} --help`
    process.stderr.write(`${message}\n${isUsage ? `More: ${more}\n` : ''}`)
    return isUsage ? WRONG_USAGE : FAILED
  }
}

/** What comes before the first option: it names a command. */
function wordsOf(args: readonly string[]): string {
  const options = args.findIndex((arg) => arg.startsWith('-'))
  return args.slice(0, options === -1 ? args.length : options).join(' ')
}

function unknown(words: string): string {
  const commands = Object.keys(COMMANDS).join(', ')
  return words === ''
    ? `Which command? There is: ${commands}`
    : `There is no command "${words}", but: ${commands}`
}

/** All commands, or those that begin so. */
function overview(words: string): string {
  const some = Object.entries(COMMANDS).filter(([name]) => `${name} `.startsWith(`${words} `))
  const shown = some.length === 0 ? Object.entries(COMMANDS) : some
  const lines = shown.map(([name, { summary }]) => `  plantctl ${name.padEnd(16)}${summary}\n`)
  return `The operator's command line of the plant store.

${lines.join('')}
plantctl COMMAND --help tells more. In the project's folder plantctl is "npm run -s plantctl --" (with -s, npm
prints nothing of its own), in a container of the image "node services/projector/src/plantctl/main.ts".
`
}
