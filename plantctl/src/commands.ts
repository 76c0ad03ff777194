import type { Command } from './command.ts'
import { acl } from './commands/acl.ts'
import { asOf } from './commands/as-of.ts'
import { events } from './commands/events.ts'
import { exportPlants } from './commands/export.ts'
import { parkedList } from './commands/parked-list.ts'
import { parkedReapply } from './commands/parked-reapply.ts'
import { parkedShow } from './commands/parked-show.ts'
import { rebuild } from './commands/rebuild.ts'
import { status } from './commands/status.ts'
import { tableRebuild } from './commands/table-rebuild.ts'
import { tokenCreate } from './commands/token-create.ts'
import { verify } from './commands/verify.ts'

type Group = { title: string; commands: Record<string, Command> }

/** All commands by name, grouped by purpose. */
const GROUPS: Group[] = [
  {
    title: 'Inspect',
    commands: {
      status,
      events,
      'as-of': asOf,
      export: exportPlants,
      'parked list': parkedList,
      'parked show': parkedShow,
    },
  },
  {
    title: 'Verify and repair',
    commands: { verify, rebuild, 'parked reapply': parkedReapply, 'table rebuild': tableRebuild },
  },
  { title: 'Grant access', commands: { 'token create': tokenCreate, acl } },
]

export const COMMANDS: Record<string, Command> = Object.assign({}, ...GROUPS.map(({ commands }) => commands))

/** The command that these words start with. */
export function commandOf(words: string): string | undefined {
  return Object.keys(COMMANDS).find((name) => `${words} `.startsWith(`${name} `))
}

/** The error message for words that name no command. */
export function unknownCommand(words: string): string {
  const subcommands = Object.keys(COMMANDS).filter(startsWith(words))
  if (words !== '' && subcommands.length > 0) return `"${words}" needs a subcommand, one of: ${subcommands.join(', ')}`
  const commands = Object.keys(COMMANDS).join(', ')
  return `${words === '' ? 'No command' : `Unknown command "${words}"`}. Commands: ${commands}`
}

const startsWith = (words: string) => (name: string) => `${name} `.startsWith(`${words} `)

/** The text of `plantctl --help`, or of `plantctl parked --help` for the commands that start with these words. */
export function overview(words: string): string {
  const isSubcommand = startsWith(words)
  const isPart = Object.keys(COMMANDS).some(isSubcommand)
  const isShown = isPart ? isSubcommand : () => true
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length)) + 2
  const groups = GROUPS.map(({ title, commands }) => {
    const shown = Object.entries(commands).filter(([name]) => isShown(name))
    const lines = shown.map(([name, { summary }]) => `  plantctl ${name.padEnd(width)}${summary}\n`)
    return lines.length === 0 ? '' : `${title}:\n${lines.join('')}\n`
  })
  return `The operator's command line of the plant store.${isPart ? '' : FIRST_STEP}

${groups.join('')}${ABOUT}`
}

const FIRST_STEP = ' Start with:\n\n  plantctl status'

const ABOUT = `"plantctl COMMAND --help" shows examples, options and output of a command.

In the project's folder run "npm run -s plantctl --" (-s suppresses npm's own output), with compose "docker compose
exec projector plantctl". KAFKA_BROKERS, REDIS_URL, PLANTS_TOPIC and PLANTS_PARTITIONS select the store; without them
plantctl uses the store of a running "npm start".

Results go to stdout, everything else to stderr. Exit codes:
    0  done, no problem found
    1  failed; the message names the cause and the remedy
    2  wrong arguments
    3  done, problems found
  130  interrupted by Ctrl-C or SIGTERM
`
