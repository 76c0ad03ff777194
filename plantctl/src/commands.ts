import type { Command } from './command.ts'
import { acl } from './commands/acl.ts'
import { backup } from './commands/backup.ts'
import { backupCheck } from './commands/backup-check.ts'
import { events } from './commands/events.ts'
import { exportPlants } from './commands/export.ts'
import { parkedList } from './commands/parked-list.ts'
import { parkedReapply } from './commands/parked-reapply.ts'
import { parkedShow } from './commands/parked-show.ts'
import { rebuild } from './commands/rebuild.ts'
import { restore } from './commands/restore.ts'
import { status } from './commands/status.ts'
import { tableRebuild } from './commands/table-rebuild.ts'
import { tokenCreate } from './commands/token-create.ts'
import { verify } from './commands/verify.ts'

const GROUPS: Record<string, Record<string, Command>> = {
  Inspect: { status, events, export: exportPlants, 'parked list': parkedList, 'parked show': parkedShow },
  'Verify and repair': { verify, rebuild, 'parked reapply': parkedReapply, 'table rebuild': tableRebuild },
  'Save and restore': { backup, 'backup check': backupCheck, restore },
  'Grant access': { 'token create': tokenCreate, acl },
}

export const COMMANDS: Record<string, Command> = Object.assign({}, ...Object.values(GROUPS))

/** The command that these words start with: `backup check` comes after `backup`. */
export function commandOf(words: string): string | undefined {
  return Object.keys(COMMANDS).findLast((name) => `${words} `.startsWith(`${name} `))
}

export function unknownCommand(words: string): string {
  const names = Object.keys(COMMANDS)
  const subcommands = names.filter((name) => words !== '' && name.startsWith(`${words} `))
  if (subcommands.length > 0) return `"${words}" needs a subcommand, one of: ${subcommands.join(', ')}`
  return `${words === '' ? 'No command' : `Unknown command "${words}"`}. Commands: ${names.join(', ')}`
}

export function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length)) + 2
  const groups = Object.entries(GROUPS).map(([title, commands]) => {
    const lines = Object.entries(commands).map(([name, { summary }]) => `  plantctl ${name.padEnd(width)}${summary}\n`)
    return `${title}:\n${lines.join('')}\n`
  })
  return `The operator's command line of the plant store. Start with:

  plantctl status

${groups.join('')}${ABOUT}`
}

const ABOUT = `"plantctl COMMAND --help" shows examples, options and output of a command; "plantctl --version" the version.

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
