import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { root } from '../../local/places.mjs'
import { runCommand } from '../../local/processes/command.ts'
import { send } from '../support/client.ts'
import { createPlantStore, TOKEN } from '../support/plant-store.ts'

const FOLDER = join(root, 'examples/typescript-client')
const STEP_TIMEOUT_MS = 120_000

describe('the example of TypeScript clients', () => {
  beforeAll(async () => {
    await step('npm', ['ci'])
    await step('npm', ['run', 'generate'])
  }, 2 * STEP_TIMEOUT_MS)

  it('compiles strictly', async () => {
    await step('npm', ['run', 'check'])
  })

  it.each(['openapi-fetch', 'hey-api'])(
    'keeps every digit, repeats creates, lists and reads: %s',
    async (generator) => {
      const { startApi, startProjector } = await createPlantStore({
        kafkaBrokers: inject('kafkaBrokers'),
        redisUrl: inject('redisUrl'),
      })
      const [{ url }] = await Promise.all([startApi(), startProjector()])
      const output = await step('node', ['main.ts', generator], { BASE_URL: await cutting(url), TOKEN })
      const stored = [...((await send(`${url}/plants`, {}))?.text ?? '').matchAll(/"id":(\d+)/g)].map(([, id]) => id)
      expect(stored).toHaveLength(3)
      for (const id of stored) expect(Number(id) === Number(BigInt(id as string) - 1n)).toBe(true)
      const lines = stored.flatMap((id) => [
        `created ${id}, again: the same`,
        ...['read', 'listed'].map((what) => `${what} ${id}: plant ${id}`),
      ])
      expect(output.trim().split('\n').sort()).toEqual(lines.sort())
    },
  )
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
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void proxy.close().closeAllConnections())
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

/** Resolves to the output. */
async function step(command: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  const options = { timeoutMs: STEP_TIMEOUT_MS, cwd: FOLDER, env: { ...process.env, ...env } }
  const { code, output } = await runCommand(command, args, options)
  expect(code, `${command} ${args.join(' ')}\n${output}`).toBe(0)
  return output
}
