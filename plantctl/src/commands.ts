import type { Command } from './command.ts'
import { asOf } from './commands/as-of.ts'
import { events } from './commands/events.ts'
import { exportPlants } from './commands/export.ts'
import { parkedList } from './commands/parked-list.ts'
import { parkedReapply } from './commands/parked-reapply.ts'
import { parkedShow } from './commands/parked-show.ts'
import { rebuild } from './commands/rebuild.ts'
import { status } from './commands/status.ts'
import { tokenCreate } from './commands/token-create.ts'
import { verify } from './commands/verify.ts'

type Group = { title: string; commands: Record<string, Command> }

/** All commands by name, grouped by what they are for. */
const GROUPS: Group[] = [
  {
    title: 'Look at it',
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
    title: 'Prove it, and make it new',
    commands: { verify, rebuild, 'parked reapply': parkedReapply },
  },
  { title: 'Give access', commands: { 'token create': tokenCreate } },
]

export const COMMANDS: Record<string, Command> = Object.assign({}, ...GROUPS.map(({ commands }) => commands))

/** The name of the command that these words begin with. */
export function commandOf(words: string): string | undefined {
  return Object.keys(COMMANDS).find((known) => `${words} `.startsWith(`${known} `))
}

/** What there is in place of these words, which name no command. */
export function unknownCommand(words: string): string {
  const some = Object.keys(COMMANDS).filter(beginsWith(words))
  if (words !== '' && some.length > 0) return `${words} what? There is: ${some.join(', ')}`
  const commands = Object.keys(COMMANDS).join(', ')
  return words === ''
    ? `Which command? There is: ${commands}`
    : `There is no command "${words}", but: ${commands}`
}

const beginsWith = (words: string) => (name: string) => `${name} `.startsWith(`${words} `)

/** All commands, or those that begin so. */
export function overview(words: string): string {
  const begins = beginsWith(words)
  const isPart = Object.keys(COMMANDS).some(begins)
  const shows = isPart ? begins : () => true
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length)) + 2
  const groups = GROUPS.map(({ title, commands }) => {
    const some = Object.entries(commands).filter(([name]) => shows(name))
    const lines = some.map(([name, { summary }]) => `  plantctl ${name.padEnd(width)}${summary}\n`)
    return lines.length === 0 ? '' : `${title}:\n${lines.join('')}\n`
  })
  return `The operator's command line of the plant store.${isPart ? '' : FIRST_LOOK}

${groups.join('')}${ABOUT}`
}

const FIRST_LOOK = ' For a first look:\n\n  plantctl status'

const ABOUT = `plantctl COMMAND --help tells more: examples, options, what the output means.

In the project's folder plantctl is "npm run -s plantctl --" (with -s, npm prints nothing of its own), with
compose "docker compose exec projector plantctl". It looks at the store of KAFKA_BROKERS, REDIS_URL, PLANTS_TOPIC
and PLANTS_PARTITIONS; without these at that of a running npm start.

What was asked for goes to stdout, all else to stderr. Exit codes:
    0  done, and all is as it should be
    1  it could not be done; the message says why, and what to do
    2  it was called wrongly
    3  done, and something is not as it should be
  130  broken off by Ctrl-C or SIGTERM
`
