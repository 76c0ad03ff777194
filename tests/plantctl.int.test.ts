import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { digestOf, parseTokenEntries } from '@plant-store/shared/access/token-entry.ts'
import { describe, expect, inject, it } from 'vitest'
import { type Run, writeRun } from '../local/launch/run-file.mjs'
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
    const asked = [
      'token',
      'create',
      '--label',
      'shop',
      '--scope',
      'plants:write',
      '--expires',
      '90d',
      '--json',
    ]
    const before = Date.now()
    const [first, second] = [
      await run('npm', ['run', '-s', 'plantctl', '--', ...asked]),
      await plantctl(...asked),
    ]
    expect(first.code).toBe(0)
    const { token, entry, ...told } = JSON.parse(first.stdout)
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(JSON.parse(second.stdout).token).not.toBe(token)
    expect(told).toEqual({ label: 'shop', scopes: ['plants:write'], expires: expect.any(String) })
    const expiresAtMs = Date.parse(told.expires)
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
    [
      'a label that no entry can have',
      ['--label', 'Shop', '--scope', 'plants:read'],
      /--label Shop: expected/,
    ],
    ['two labels', [...good, '--label', 'other'], /--label is given more than once/],
    ['no scope', ['--label', 'shop'], /--scope is missing/],
    ['an unknown scope', [...good, '--scope', 'plants:delete'], /--scope plants:delete: expected/],
    ['an expiry that is past', [...good, '--expires', '2020-01-01T00:00:00Z'], /is past/],
    ['two expiries', [...good, '--expires', '1d', '--expires', '2d'], /--expires is given more than once/],
    ['an unknown option', [...good, '--colour', 'green'], /--colour/],
    ['a word too many', [...good, 'now'], /now/],
  ])('refuses %s, and says how it is called', async (_what, args, message) => {
    const { code, stdout, stderr } = await plantctl('token', 'create', ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/plantctl token create --help/)
    expect(stderr).not.toMatch(/ {4}at /)
  })
})

describe('plantctl', () => {
  it.each([
    ['it', []],
    ['commands that begin so', ['token']],
    ['a command that there is not', ['tokens', 'create']],
  ])('teaches %s', async (_what, words) => {
    for (const flag of ['--help', '-h']) {
      expect(await plantctl(...words, flag)).toMatchObject({
        ...{ code: 0, stderr: '' },
        stdout: expect.stringMatching(/plantctl token create +makes a bearer token/),
      })
    }
  })

  it('starts with a first example, and groups the commands', async () => {
    expect((await plantctl('--help')).stdout).toMatch(
      /For a first look:\n\n {2}plantctl status\n\nLook at it:\n {2}plantctl status (.|\n)*Give access:\n {2}plantctl token create/,
    )
  })

  it.each(['status', 'events', 'parked list', 'parked show', 'parked reapply', 'rebuild'])(
    'teaches %s by examples, options and exit codes',
    async (name) => {
      const { code, stdout } = await plantctl(...name.split(' '), '--help')
      expect(code).toBe(0)
      expect(stdout).toMatch(
        new RegExp(`\\n {2}plantctl ${name}(.|\\n)*\\n {2}--json (.|\\n)*Exit codes: 0 `),
      )
    },
  )

  it('explains each command', async () => {
    expect(await plantctl('token', 'create', '--help')).toMatchObject({
      ...{ code: 0, stderr: '' },
      stdout: expect.stringMatching(/--label(.|\n)*--scope(.|\n)*--expires(.|\n)*--json/),
    })
  })

  it.each([[[]], [['token']], [['tokens', 'create']]])('%j is no command', async (words) => {
    const { code, stdout, stderr } = await plantctl(...words)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/token create\nMore: plantctl --help/)
  })

  it('lists the commands that start with an ambiguous word', async () => {
    expect(await plantctl('parked')).toEqual({
      ...{ code: 2, stdout: '' },
      stderr: 'parked what? There is: parked list, parked show, parked reapply\nMore: plantctl --help\n',
    })
  })
})

describe('the store that plantctl connects to', () => {
  const nowhere = { KAFKA_BROKERS: '127.0.0.1:1', REDIS_URL: 'redis://:secret@127.0.0.1:1' }
  const statusOf = (env: NodeJS.ProcessEnv, cwd: string) =>
    startPlantctl(['status', '--json'], { ...processEnvironment, ...env }, { cwd }).ended

  /** A folder in which an npm start runs, as its run.json says, on the Kafka and the Redis under test. */
  async function folderOfStart(changes: Partial<Run> = {}) {
    const { topic } = await createTestTopic(inject('kafkaBrokers'), 3)
    const folder = temporaryFolder()
    mkdirSync(join(folder, '.local'))
    mkdirSync(join(folder, 'within', 'it'), { recursive: true })
    const stores = { kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') }
    const services = {
      url: '',
      opsUrls: { api: '', projector: '' },
      token: '',
      pids: { launcher: 0, api: 0, projector: 0 },
    }
    writeRun(join(folder, '.local'), { ...services, ...stores, topic, partitions: 3, ...changes })
    return { folder, topic }
  }

  it('is that of a running npm start in this folder, in a parent folder, or in PLANT_STORE_LOCAL_DIR', async () => {
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

  it('has to be named, to run and to have its topic; otherwise the message says what to do, without secrets', async () => {
    const nothing = await statusOf({}, temporaryFolder())
    expect(nothing).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^Which store\? Set KAFKA_BROKERS and REDIS_URL/),
    })
    const away = await statusOf(nowhere, temporaryFolder())
    expect(away).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/ at .*127.0.0.1:1 does not answer: .*Does it run/),
    })
    expect(away.stderr).not.toMatch(/secret| {4}at /)
    const { folder } = await folderOfStart({ partitions: 4 })
    const other = await statusOf({}, folder)
    expect(other.code).toBe(3)
    expect(JSON.parse(other.stdout).problems[0]).toMatch(/has 3 partitions, but PLANTS_PARTITIONS is 4/)
  })
})
