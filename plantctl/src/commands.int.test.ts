import { constants } from 'node:os'
import { PassThrough, Writable } from 'node:stream'
import { digestOf, parseTokenEntries } from '@plant-store/shared/access/token-entry.ts'
import { version } from '@plant-store/shared/runtime/version.ts'
import { beforeAll, expect, inject, it } from 'vitest'
import { newEvent } from '../../tests/support/new-events.ts'
import { failing, outputOf, runPlantctl } from '../../tests/support/plantctl.ts'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { appendTo, createTestTopic, type TestTopic } from '../../tests/support/topic.ts'
import { environmentOf } from '../../tests/support/topic-plantctl.ts'
import { openCliContext } from './cli-context.ts'
import { COMMANDS, commandOf, overview, unknownCommand } from './commands.ts'
import { runCommand } from './run-command.ts'

let topic: TestTopic
let env: NodeJS.ProcessEnv
beforeAll(async () => {
  topic = await createTestTopic(inject('kafkaBrokers'), 6)
  env = environmentOf(topic)
})

const run = (line: string) => runPlantctl(line.split(' '), env)

const TOKEN = 'token create --label shop --scope plants:read'

it.each<[string, RegExp]>([
  ['token create --scope plants:read', /--label is missing/],
  ['token create --label Shop --scope plants:read', /--label Shop: expected/],
  [`${TOKEN} --label other`, /--label is given more than once/],
  ['token create --label shop', /--scope is missing/],
  [`${TOKEN} --scope plants:delete`, /--scope plants:delete: expected/],
  [`${TOKEN} --colour green`, /--colour/],
  [`${TOKEN} now`, /now/],
  ['events --from 2-x', /--from 2-x: expected a position/],
  ['events --id 07', /--id 07: expected an int64/],
  ['events --id 7 --partition 9', /--partition 9: expected a partition from 0 to 5/],
  ['events --limit 0', /--limit 0/],
  ['events --follow --to 1m', /--follow/],
  ['rebuild --throttle 0', /--throttle 0: expected records per second/],
  ['rebuild --partition 6', /--partition 6: expected a partition from 0 to 5/],
  ['export --at 2999-01-01T00:00:00Z', /in the future/],
  ['export --at 0-0 --rest empty', /partition 0 of the log ends before offset 0/],
  ['export --at 0-0', /no position for partitions 1-5: add --rest now .* or --rest empty/],
  ['export --at 0-0 --rest later', /--rest later: expected now or empty/],
  ['export --rest empty', /--rest empty: only for --at with positions, such as --at 3-120/],
  ['export --at 1d --rest now', /--rest now: only for --at with positions/],
  ['export --at 1d --from-redis', /--from-redis cannot be combined with --at/],
  ['export all', /all/],
  ['backup --to folder --follow --every 25d', /--every 25d: expected .* at most 24d/],
])('refuses %s, and names what is expected', async (line, message) => {
  expect(await run(line)).toMatchObject(failing(message, 2))
})

it('a new token is printed with its entry, as text and as JSON', async () => {
  const text = await outputOf(run(`${TOKEN} --scope plants:write`))
  const [token = '', entry = ''] = [...text.matchAll(/^ {2}(\S.*)$/gm)].map(([, line]) => line)
  expect(parseTokenEntries(entry, 'here')).toEqual([
    { label: 'shop', digest: digestOf(token), scopes: ['plants:write', 'plants:read'] },
  ])
  const before = Date.now()
  const json = JSON.parse(await outputOf(run(`${TOKEN} --expires 90d --json`)))
  expect(json).toMatchObject({ label: 'shop', scopes: ['plants:read'] })
  expect(json.token).toMatch(/^[\w-]{43}$/)
  expect(json.token).not.toBe(token)
  const expiresAtMs = Date.parse(json.expires)
  expect(expiresAtMs).toBeGreaterThanOrEqual(before + 90 * 86_400_000)
  expect(parseTokenEntries(json.entry, 'here')).toEqual([
    { label: 'shop', scopes: ['plants:read'], digest: digestOf(json.token), expiresAtMs },
  ])
})

it('the help and the version are printed', async () => {
  expect(await run('-h')).toEqual({ code: 0, stdout: overview(), stderr: '' })
  expect(overview()).toMatch(/Start with:\n\n {2}plantctl status\n\nInspect:\n {2}plantctl status /)
  expect(await run('token create -h')).toEqual({ code: 0, stdout: COMMANDS['token create']?.help, stderr: '' })
  expect(await run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

it('a folder without a backup is not checked', async () => {
  expect(await run(`backup check ${temporaryFolder()}`)).toMatchObject(failing(/has no manifest\.json/))
})

it.each(Object.keys(COMMANDS))('the help of %s has examples', (name) => {
  expect(COMMANDS[name]?.help).toMatch(new RegExp(`\\n {2}plantctl ${name}`))
})

it.each([
  ['', /^No command\. Commands: status, .*token create, acl$/],
  ['tokens create', /^Unknown command "tokens create"\. Commands: status, .*token create, acl$/],
  ['parked', /^"parked" needs a subcommand, one of: parked list, parked show, parked reapply$/],
])('the words "%s" name no command', (words, message) => {
  expect(commandOf(words)).toBeUndefined()
  expect(unknownCommand(words)).toMatch(message)
})

it('what follows the log ends with the reason when stdout cannot be written', async () => {
  await appendTo(topic, [newEvent(1n, topic.partitions)])
  const write = (_: unknown, _encoding: string, done: (error: Error) => void) =>
    done(Object.assign(new Error('raw'), { errno: -constants.errno.ENOSPC }))
  const [stdout, stderr] = [new Writable({ write }), new PassThrough()]
  const context = openCliContext({ env, stdout, stderr } as unknown as NodeJS.Process, new AbortController().signal)
  expect(await runCommand(['events', '--follow', '--from', '1d'], context)).toBe(1)
  expect(String(stderr.read())).toMatch(
    /stdout cannot be written: no space left on device\. Correct it and run this again\n$/,
  )
})
