import { writeFileSync } from 'node:fs'
import { createServer, request as forward, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { fetchAgain } from '../../examples/typescript-client/fetch-again.ts'
import { root } from '../../local/places.mjs'
import { runCommand } from '../../local/processes/command.ts'
import { send } from '../support/client.ts'
import { listen } from '../support/listen.ts'
import { startApiAlone, TOKEN } from '../support/plant-store.ts'
import { runStep } from '../support/run-step.ts'

const FOLDER = join(root, 'examples/typescript-client')
const REFUSED = `import { create, read } from '../client.ts'
// @ts-expect-error: a plant has a name.
await create({ id: 1n }, 'key')
// @ts-expect-error: an id is a bigint.
await create({ id: 1, name: 'Ficus' }, 'key')
// @ts-expect-error: an id is a bigint.
await read(1, '')
`

describe('the example of a TypeScript client', () => {
  beforeAll(async () => {
    await runStep('npm', ['ci'], { cwd: FOLDER })
    await runStep('npm', ['run', 'generate'], { cwd: FOLDER })
  })

  it('compiles strictly, and refuses ids that are no bigints, and plants without a name', async () => {
    writeFileSync(join(FOLDER, 'generated/refused.ts'), REFUSED)
    await runStep('npm', ['run', 'check'], { cwd: FOLDER })
  })

  it('keeps every digit, repeats creates, lists and reads', async () => {
    const { url } = (await startApiAlone()).api
    const ids = ['9007199254740993', '9007199254740995', '-9007199254740997']
    const output = await runStep('node', ['main.ts', ...ids], {
      cwd: FOLDER,
      env: { BASE_URL: await cutting(url), TOKEN },
    })
    const stored = ((await send(`${url}/plants`, {}))?.text ?? '').matchAll(/"id":(-?\d+)/g)
    expect(new Set([...stored].map(([, id]) => id))).toEqual(new Set(ids))
    const lines = ids.flatMap((id) => [
      `created ${id}, again: the same`,
      ...['read', 'listed'].map((what) => `${what} ${id}: plant ${id}`),
    ])
    expect(output.trim().split('\n').sort()).toEqual(lines.sort())
  })
})

it.each([
  ['no body', {}, '', 'the response has status 502'],
  ['a page', { 'content-type': 'text/html' }, '<html>', 'the response has status 502'],
  ['a fraction', { 'content-type': 'application/json' }, '{"message":"too busy","load":0.5}', 'too busy'],
])('the client reports the failure of a proxy that responds with %s', async (_, headers, body, message) => {
  const proxy = createServer((_, response) => response.writeHead(502, headers).end(body))
  const env = { ...process.env, BASE_URL: `http://127.0.0.1:${await listen(proxy)}`, TOKEN }
  const ended = await runCommand('node', ['main.ts'], { cwd: FOLDER, env, timeoutMs: 60_000 })
  expect(ended).toMatchObject({ code: 1, output: expect.stringContaining(`Error: ${message}`) })
})

const PLANT = '{"name":"Fern"}'
const SILENT: RequestListener = () => {}
const CUT: RequestListener = (_, response) => {
  response.writeHead(200, { 'content-length': 100 })
  response.write('{"name"', () => response.destroy())
}

/** A create with a key, at a server that responds to the first request so, and to the others with the plant. */
async function createAt(first: RequestListener, signal: AbortSignal | null = null) {
  let requests = 0
  const server = createServer((request, response) =>
    requests++ === 0 ? first(request, response) : response.end(PLANT),
  )
  const url = `http://127.0.0.1:${await listen(server)}`
  return new Request(url, { method: 'POST', headers: { 'idempotency-key': 'key' }, body: '{}', signal })
}

it.each([
  ['is silent', SILENT],
  ['breaks within the body', CUT],
])('the example sends a create again after a connection that %s', async (_how, first) => {
  const response = await fetchAgain(await createAt(first), { timeLimitMs: 500 })
  expect(await response.json()).toEqual(JSON.parse(PLANT))
})

it('the example ends when its caller gives up', async () => {
  const caller = new AbortController()
  const request = await createAt(() => caller.abort(new Error('the caller gave up')), caller.signal)
  await expect(fetchAgain(request)).rejects.toThrow('the caller gave up')
})

/** Resolves to the address of a proxy that breaks the connection of each other create before the response. */
async function cutting(url: string): Promise<string> {
  let creates = 0
  const proxy = createServer((request, response) => {
    const { method, headers } = request
    const upstream = forward(`${url}${request.url}`, { method: method as string, headers }, (answer) => {
      if (method === 'POST' && creates++ % 2 === 0) return void request.socket.destroy()
      // Without a length, as from a proxy that compresses.
      const { 'content-length': _, ...rest } = answer.headers
      answer.pipe(response.writeHead(answer.statusCode as number, rest))
    })
    request.pipe(upstream)
  })
  return `http://127.0.0.1:${await listen(proxy)}`
}
