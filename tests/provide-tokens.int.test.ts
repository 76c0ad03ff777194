import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../local/processes/command.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const program = new URL('../local/provide-tokens.ts', import.meta.url).pathname
const digestOf = (token: string) => createHash('sha256').update(token).digest('hex')
const entry = (token: string) => `ann:${digestOf(token)}`
const LIMIT_MS = 20_000

/** Runs it as docker-compose.yml does, with folders in place of the volumes. */
async function provideTokens(settings: Record<string, string>, folder = temporaryFolder()) {
  const digestsDir = temporaryFolder()
  const env = { PATH: process.env.PATH, TOKENS_DIR: folder, DIGESTS_DIR: digestsDir, ...settings }
  const { code, output } = await runCommand(process.execPath, [program], { env, timeoutMs: LIMIT_MS })
  const provided = () => {
    // The api sees all that is here, so the token is elsewhere.
    expect(readdirSync(digestsDir)).toEqual(['token-digests'])
    return readFileSync(join(digestsDir, 'token-digests'), 'utf8')
  }
  return { code, output, provided }
}

it('creates a token once, and prints it each time', async () => {
  const folder = temporaryFolder()
  const [first, second] = [await provideTokens({}, folder), await provideTokens({}, folder)]
  const token = String(/token {2}(\S+)/.exec(first.output)?.[1])
  expect(token).toMatch(/^[\w-]{43}$/)
  expect(second.output).toBe(first.output)
  expect(second.provided()).toBe(`local:${digestOf(token)}\n`)
})

it('prefers what is given over the created token: the digests, then the file, then the token', async () => {
  const folder = temporaryFolder()
  await provideTokens({}, folder)
  const mounted = join(temporaryFolder(), 'secret')
  writeFileSync(mounted, `${entry('of-the-file')}\n`)
  const token = { PLANT_STORE_TOKEN: 'a-token' }
  const file = { ...token, PLANT_STORE_TOKEN_DIGESTS_FILE: './my-digests', SECRET: mounted }
  const digests = { ...file, PLANT_STORE_TOKEN_DIGESTS: entry('of-the-setting') }
  for (const [settings, expected] of [
    [token, `local:${digestOf('a-token')}`],
    [file, entry('of-the-file')],
    [digests, entry('of-the-setting')],
  ] as const) {
    const { code, output, provided } = await provideTokens(settings, folder)
    expect({ code, provided: provided() }).toEqual({ code: 0, provided: `${expected}\n` })
    expect(output).not.toContain('a-token')
  }
})

it('refuses digests and files that are not valid, and names them', async () => {
  const cutOff = join(temporaryFolder(), 'secret')
  writeFileSync(cutOff, entry('of-the-file'))
  const file = (SECRET: string) => ({ PLANT_STORE_TOKEN_DIGESTS_FILE: './my-digests', SECRET })
  const faults: [Record<string, string>, RegExp][] = [
    [{ PLANT_STORE_TOKEN_DIGESTS: 'ann:nonsense' }, /entry 1 of PLANT_STORE_TOKEN_DIGESTS is not label:digest/],
    [{ PLANT_STORE_TOKEN: 'two words' }, /PLANT_STORE_TOKEN: expected/],
    [file(program), /entry 1 of \.\/my-digests is not label:digest/],
    [file('/nowhere'), /my-digests cannot be read.*ENOENT/],
    [file(cutOff), /my-digests does not end with a line break/],
  ]
  for (const [settings, message] of faults) {
    const { code, output } = await provideTokens(settings)
    expect({ code, output }).toEqual({ code: 1, output: expect.stringMatching(message) })
  }
})

it('the step before, which creates the topics, names a Kafka that is not reachable, and refuses other options', async () => {
  const createTopics = new URL('../local/create-topic.ts', import.meta.url).pathname
  const env = { PATH: process.env.PATH, KAFKA_BROKERS: '127.0.0.1:1' }
  const create = (...args: string[]) =>
    runCommand(process.execPath, [createTopics, ...args], { env, timeoutMs: LIMIT_MS })
  const unreachable = 'Kafka at 127.0.0.1:1 is not reachable: check that it runs and that KAFKA_BROKERS is right\n'
  expect(await create()).toMatchObject({ code: 1, output: unreachable })
  const unknown = "Unknown option '--wiat'. --help shows the options.\n"
  expect(await create('--wiat')).toMatchObject({ code: 1, output: unknown })
})
