import { createServer, request as forward } from 'node:http'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../local/places.mjs'
import { runCommand } from '../../local/processes/command.ts'
import { send } from '../support/client.ts'
import { listen } from '../support/listen.ts'
import { startPlantStore, TOKEN } from '../support/plant-store.ts'
import { runStep } from '../support/run-step.ts'

const FOLDER = join(root, 'examples/typescript-client')

describe('the example of TypeScript clients', () => {
  beforeAll(async () => {
    await runStep('npm', ['ci'], { cwd: FOLDER })
    await runStep('npm', ['run', 'generate'], { cwd: FOLDER })
  })

  it('compiles strictly', async () => {
    await runStep('npm', ['run', 'check'], { cwd: FOLDER })
  })

  it.each(['openapi-fetch', 'hey-api'])(
    'keeps every digit, repeats creates, lists and reads: %s',
    async (generator) => {
      const { url } = (await startPlantStore()).api
      const output = await runStep('node', ['main.ts', generator], {
        cwd: FOLDER,
        env: { BASE_URL: await cutting(url), TOKEN },
      })
      const stored = [...((await send(`${url}/plants`, {}))?.text ?? '').matchAll(/"id":(\d+)/g)].map(([, id]) => id)
      expect(stored).toHaveLength(3)
      for (const id of stored) expect(BigInt(Number(id))).not.toBe(BigInt(id as string))
      const lines = stored.flatMap((id) => [
        `created ${id}, again: the same`,
        ...['read', 'listed'].map((what) => `${what} ${id}: plant ${id}`),
      ])
      expect(output.trim().split('\n').sort()).toEqual(lines.sort())
    },
  )
})

it.each(['openapi-fetch', 'hey-api'])('reports the response of a proxy that has no body: %s', async (generator) => {
  const proxy = createServer((_, response) => response.writeHead(502, { 'content-length': 0 }).end())
  const env = { ...process.env, BASE_URL: `http://127.0.0.1:${await listen(proxy)}`, TOKEN }
  const ended = await runCommand('node', ['main.ts', generator], { cwd: FOLDER, env, timeoutMs: 60_000 })
  expect(ended).toMatchObject({ code: 1, output: expect.stringContaining('the response has status 502') })
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
