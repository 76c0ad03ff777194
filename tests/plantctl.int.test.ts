import { execFile } from 'node:child_process'
import { digestOf, parseTokenEntries } from '@plant-store/shared/access/token-entry.ts'
import { describe, expect, it } from 'vitest'
import { root } from '../local/places.mjs'

const LIMIT_MS = 60_000
const program = new URL('../services/projector/src/plantctl/main.ts', import.meta.url).pathname

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
  it('tells a script a new token and its entry, which fit together, and nothing else', async () => {
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

  it('tells a person the same in words', async () => {
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

  it('teaches each command', async () => {
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
})
