import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { digestOf, parseTokenEntries } from '@plant-store/shared/access/token-entry.ts'
import { version } from '@plant-store/shared/runtime/version.ts'
import { describe, expect, inject, it } from 'vitest'
import { type Run, writeRun } from '../local/launch/run-file.ts'
import { root } from '../local/places.mjs'
import { startPlantctl } from './support/plantctl.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import { processEnvironment } from './support/test-run.ts'
import { createTestTopic } from './support/topic.ts'

const LIMIT_MS = 60_000
const program = new URL('../plantctl/src/main.ts', import.meta.url).pathname

type Ended = { code: unknown; stdout: string; stderr: string }

function run(command: string, args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: root, timeout: LIMIT_MS }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, stdout, stderr })
    })
  })
}

const plantctl = (...args: string[]) => run(process.execPath, [program, ...args])

describe('plantctl token create', () => {
  it('prints a new token and its matching entry as JSON, and nothing else', async () => {
    const args = ['token', 'create', '--label', 'shop', '--scope', 'plants:write', '--expires', '90d', '--json']
    const before = Date.now()
    const [first, second] = [await run('npm', ['run', '-s', 'plantctl', '--', ...args]), await plantctl(...args)]
    expect(first.code).toBe(0)
    const { token, entry, ...others } = JSON.parse(first.stdout)
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(JSON.parse(second.stdout).token).not.toBe(token)
    expect(others).toEqual({ label: 'shop', scopes: ['plants:write'], expires: expect.any(String) })
    const expiresAtMs = Date.parse(others.expires)
    expect(parseTokenEntries(entry, 'here')).toEqual([
      { label: 'shop', digest: digestOf(token), scopes: ['plants:write'], expiresAtMs },
    ])
    expect(expiresAtMs).toBeGreaterThanOrEqual(before + 90 * 86_400_000)
  })

  it('prints the same as text', async () => {
    const { code, stdout } = await plantctl(
      ...['token', 'create', '--label', 'shop', '--scope', 'plants:read', '--scope', 'plants:write'],
    )
    const [token = '', entry = ''] = [...stdout.matchAll(/^ {2}(\S.*)$/gm)].map(([, line]) => line)
    expect(code).toBe(0)
    expect(parseTokenEntries(entry, 'here')).toEqual([
      { label: 'shop', digest: digestOf(token), scopes: ['plants:write', 'plants:read'] },
    ])
  })

  const good = ['--label', 'shop', '--scope', 'plants:read']
  it.each<[string, string[], RegExp]>([
    ['no label', ['--scope', 'plants:read'], /--label is missing/],
    ['an invalid label', ['--label', 'Shop', '--scope', 'plants:read'], /--label Shop: expected/],
    ['two labels', [...good, '--label', 'other'], /--label is given more than once/],
    ['no scope', ['--label', 'shop'], /--scope is missing/],
    ['an unknown scope', [...good, '--scope', 'plants:delete'], /--scope plants:delete: expected/],
    ['two expiries', [...good, '--expires', '1d', '--expires', '2d'], /--expires is given more than once/],
    ['an unknown option', [...good, '--colour', 'green'], /--colour/],
    ['an extra word', [...good, 'now'], /now/],
  ])('refuses %s, and names the help', async (_what, args, message) => {
    const { code, stdout, stderr } = await plantctl('token', 'create', ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/plantctl token create --help/)
    expect(stderr).not.toMatch(/ {4}at /)
  })
})

describe('plantctl', () => {
  it.each([
    ['no command', []],
    ['the first word of a command', ['token']],
    ['an unknown command', ['tokens', 'create']],
  ])('lists commands for the help of %s', async (_what, words) => {
    for (const flag of ['--help', '-h']) {
      expect(await plantctl(...words, flag)).toMatchObject({
        code: 0,
        stderr: '',
        stdout: expect.stringMatching(/plantctl token create +creates a bearer token/),
      })
    }
  })

  it('gives the same help without dashes, and its version', async () => {
    expect(await plantctl('help')).toEqual(await plantctl('--help'))
    expect(await plantctl('help', 'backup', 'check')).toEqual(await plantctl('backup', 'check', '--help'))
    expect(await plantctl('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  it('starts the help with a first step, and groups the commands', async () => {
    expect((await plantctl('--help')).stdout).toMatch(
      /Start with:\n\n {2}plantctl status\n\nInspect:\n {2}plantctl status (.|\n)*Grant access:\n {2}plantctl token create/,
    )
  })

  it.each(['status', 'events', 'parked list', 'parked show', 'parked reapply', 'rebuild'])(
    'shows examples, options and exit codes in the help of %s',
    async (name) => {
      const { code, stdout } = await plantctl(...name.split(' '), '--help')
      expect(code).toBe(0)
      expect(stdout).toMatch(new RegExp(`\\n {2}plantctl ${name}(.|\\n)*\\n {2}--json (.|\\n)*Exit codes: 0 `))
    },
  )

  it.each([[[]], [['token']], [['tokens', 'create']]])('refuses the unknown command %j', async (words) => {
    const { code, stdout, stderr } = await plantctl(...words)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/token create(, acl)?\nSee plantctl --help/)
  })

  it('fails to check a folder without a backup', async () => {
    const stderr = expect.stringContaining('has no manifest.json')
    expect(await plantctl('backup', 'check', temporaryFolder())).toEqual({ code: 1, stdout: '', stderr })
  })

  it('lists the subcommands for the first word of several commands', async () => {
    expect(await plantctl('parked')).toEqual({
      code: 2,
      stdout: '',
      stderr: '"parked" needs a subcommand, one of: parked list, parked show, parked reapply\nSee plantctl --help\n',
    })
  })
})

describe('the store that plantctl uses', () => {
  const nowhere = { KAFKA_BROKERS: '127.0.0.1:1', REDIS_URL: 'redis://:secret@127.0.0.1:1' }
  const statusOf = (env: NodeJS.ProcessEnv, cwd: string) =>
    startPlantctl(['status', '--json'], { ...processEnvironment, ...env }, { cwd }).ended

  /** A folder with the run.json of an npm start on the Kafka and the Redis under test. */
  async function folderOfStart(changes: Partial<Run> = {}) {
    const { topic } = await createTestTopic(inject('kafkaBrokers'), 3)
    const folder = temporaryFolder()
    mkdirSync(join(folder, '.local'))
    mkdirSync(join(folder, 'within', 'it'), { recursive: true })
    const stores = { kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') }
    const services = {
      url: '',
      urls: [],
      opsUrls: {},
      storeSettings: {},
      table: 'off',
      dockerProject: undefined,
      token: '',
      pids: { launcher: 0, api: 0, projector: 0 },
    }
    writeRun(join(folder, '.local'), { ...services, ...stores, topic, partitions: 3, ...changes })
    return { folder, topic }
  }

  it('is that of a running npm start in this folder, in a folder above, or in PLANT_STORE_LOCAL_DIR', async () => {
    const { folder, topic } = await folderOfStart()
    const seen = [
      await statusOf({}, folder),
      await statusOf({}, join(folder, 'within', 'it')),
      await statusOf({ PLANT_STORE_LOCAL_DIR: join(folder, '.local') }, tmpdir()),
    ]
    for (const { stdout, stderr } of seen) {
      expect(stderr).toBe('')
      expect(JSON.parse(stdout)).toMatchObject({
        topic,
        partitions: [{ partition: 0 }, { partition: 1 }, { partition: 2 }],
      })
    }
  })

  it('is never the log of one store with the read model of another', async () => {
    const { folder } = await folderOfStart()
    const { code, stderr } = await statusOf({ KAFKA_BROKERS: '127.0.0.1:1' }, folder)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/REDIS_URL is missing/) })
  })

  it('must be selected, respond and have its topic; errors name the remedy and no secret', async () => {
    const nothing = await statusOf({}, temporaryFolder())
    expect(nothing).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^No store selected\. Set KAFKA_BROKERS and REDIS_URL/),
    })
    const away = await statusOf(nowhere, temporaryFolder())
    expect(away).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^(! redis: Redis at \S+ is not reachable: check .*; retrying\n)?(Kafka|Redis) at \S+ is not reachable: .*\n$/,
      ),
    })
    expect(away.stderr).not.toMatch(/secret| {4}at /)
    const { folder } = await folderOfStart({ partitions: 4 })
    const other = await statusOf({}, folder)
    expect(other.code).toBe(3)
    expect(JSON.parse(other.stdout).problems[0]).toMatch(/has 3 partitions, but PLANTS_PARTITIONS is 4/)
  })
})
