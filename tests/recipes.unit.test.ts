import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { root } from '../local/places.mjs'
import { listen } from './support/listen.ts'

/** The code blocks for a shell with this text, of a page of the documentation. */
function recipesOf(page: string, part: string): string[] {
  const blocks = readFileSync(join(root, page), 'utf8').matchAll(/```sh\n([\s\S]*?)```/g)
  return [...blocks].map(([, code]) => String(code)).filter((code) => code.includes(part))
}

/** Runs a recipe against a server that responds to its nth request by the nth of these, and later by the last one. */
async function runRecipe(recipe: string, ...responses: RequestListener[]) {
  const keys: unknown[] = []
  const server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key'])
    responses[Math.min(keys.length, responses.length) - 1]?.(request, response)
  })
  const port = await listen(server)
  // Some machines have no openssl.
  const script = `openssl() { echo 0d5bc2a4; }\n${recipe.replaceAll('localhost:3000', `127.0.0.1:${port}`)}`
  const shell = spawn('sh', ['-c', script], { env: { ...process.env, TOKEN: 'x' }, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void shell.kill())
  const [output] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'exit')])
  return { output, keys }
}

it.each(['README.md', 'docs/getting-started.md', 'docs/reference/http-api.md'])(
  'the curl lines of %s',
  async (page) => {
    const recipes = recipesOf(page, 'curl ')
    expect(recipes).not.toEqual([])
    for (const recipe of recipes) {
      const [authorizations, bodies] = [new Set<unknown>(), [] as Promise<string>[]]
      const { output } = await runRecipe(recipe, (request, response) => {
        authorizations.add(request.headers.authorization)
        if (request.method === 'POST') bodies.push(text(request))
        response.end('{"name":"x"}')
      })
      expect(output).toContain('{"name":"x"}')
      expect([...authorizations]).toEqual(['Bearer x'])
      for (const body of bodies) expect(JSON.parse(await body)).toMatchObject({ name: expect.any(String) })
    }
  },
)

const CREATED: RequestListener = (_, response) => void response.end('{"name":"Aloe vera"}')
const DUPLICATE: RequestListener = (_, response) => void response.writeHead(400).end('{"error":40003}')
const UNKNOWN: RequestListener = (_, response) =>
  void response.writeHead(503, { 'retry-after': '0' }).end('{"error":50302}')
const BROKEN: RequestListener = (request) => void request.socket.destroy()
const [RETRY = ''] = recipesOf('docs/reference/http-api.md', '--retry')

it.each([
  ['a refused create is sent once', [DUPLICATE], 1, '{"error":40003}'],
  ['sent again with the same key after a 503 and a lost connection', [UNKNOWN, BROKEN, CREATED], 3, 'Aloe vera'],
])('the documented retry of a create: %s', async (_what, responses, requests, response) => {
  const { output, keys } = await runRecipe(RETRY, ...responses)
  expect(keys).toEqual(Array(requests).fill('"0d5bc2a4"'))
  expect(output).toContain(response)
})
