import { digestOf, parseTokenEntries } from '@plant-store/shared/access/token-entry.ts'
import fastify, { type FastifyInstance, type RouteShorthandOptions } from 'fastify'
import { beforeAll, describe, expect, it } from 'vitest'
import { openRaw } from '../../../../tests/support/raw-connection.ts'
import { sendError } from '../http/error-responses.ts'
import { opaqueTokens } from './opaque-tokens.ts'
import { requireAccess } from './require-access.ts'

const LONGEST = 'x'.repeat(8_192)
const entry = (label: string, token: string, ...attributes: string[]) =>
  [`${label}:${digestOf(token).toString('hex')}`, ...attributes].join(' ')
const ENTRIES = [
  entry('local', 'all'),
  entry('reader', 'reader', 'plants:read'),
  entry('writer', 'writer', 'plants:write'),
  entry('late', 'late', 'expires=2027-01-31T00:00:00Z'),
  entry('longest', LONGEST),
  entry('too-long', `${LONGEST}x`),
]
const NOW = Date.parse('2027-02-01T00:00:00Z')
const entries = parseTokenEntries(ENTRIES.join('\n'), 'here')
const labelled = opaqueTokens(
  () => entries,
  () => NOW,
)

async function openApp() {
  const app = fastify()
  app.setErrorHandler(sendError)
  await requireAccess(app, labelled)
  return app
}

const addRoute = (app: FastifyInstance, method: 'get' | 'post', path: string, options: RouteShorthandOptions) =>
  app[method](path, options, async ({ caller }) => ({ caller }))

let url: string
beforeAll(async () => {
  const app = await openApp()
  addRoute(app, 'get', '/read', { config: { scope: 'plants:read' } })
  addRoute(app, 'post', '/write', { config: { scope: 'plants:write' } })
  addRoute(app, 'get', '/open', { config: { scope: 'public' } })
  url = await app.listen({ port: 0, host: '127.0.0.1' })
  return () => app.close()
})

/** Sends header lines unchanged, and returns status, challenge and error number or caller. */
async function ask(target: string, ...lines: string[]) {
  const { write, closed, received } = openRaw(url)
  write(`${[`${target} HTTP/1.1`, 'Host: x', 'Connection: close', ...lines].join('\r\n')}\r\n\r\n`)
  await closed
  const status = Number(/^HTTP\/1.1 (\d+) /.exec(received())?.[1])
  const challenge = /\r\nwww-authenticate: (.*)\r\n/i.exec(received())?.[1]
  const [body] = /\{.*\}/.exec(received()) ?? []
  return { status, challenge, ...(body && (JSON.parse(body) as { error?: number; caller?: string })) }
}

const BARE = 'Bearer realm="plants"'
const INVALID = `${BARE}, error="invalid_token"`

describe('a request', () => {
  it.each([
    ['the scheme in any case', 'bEARER all'],
    ['several spaces', 'Bearer    all'],
    ['spaces at the end', 'Bearer all   '],
    ['the longest token', `Bearer ${LONGEST}`, 'longest'],
  ])('reaches its operation with %s', async (_what, header, caller = 'local') => {
    expect(await ask('GET /read', `Authorization: ${header}`)).toMatchObject({ status: 200, caller })
  })

  it.each([
    ['no token', 'Bearer', 40100, BARE],
    ['another scheme', 'Basic YTpi', 40100, BARE],
    ['the token alone', 'all', 40100, BARE],
    ['a quoted token', 'Bearer "all"', 40101, INVALID],
    ['a wrong token', 'Bearer wrong', 40101, INVALID],
    ['a token that is too long', `Bearer ${LONGEST}x`, 40101, INVALID],
    ['an expired token', 'Bearer late', 40101, `${INVALID}, error_description="the token has expired"`],
  ])('is rejected with %s', async (_what, header, error, challenge) => {
    const rejected = { status: 401, error, challenge, message: expect.any(String) }
    expect(await ask('GET /read', `Authorization: ${header}`)).toEqual(rejected)
  })

  it.each(['Bearer all', 'Basic YTpi', ''])('is rejected with a second Authorization header: %j', async (second) => {
    const rejected = { status: 400, error: 40000, challenge: `${BARE}, error="invalid_request"` }
    expect(await ask('GET /read', 'Authorization: Bearer all', `AUTHORIZATION: ${second}`)).toMatchObject(rejected)
  })

  it('is rejected with a token in the query or a form, and before its body is read', async () => {
    const form = ['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 16', '', 'access_token=all']
    expect(await ask('GET /read?access_token=all')).toMatchObject({ error: 40100, challenge: BARE })
    expect(await ask('POST /write', ...form)).toMatchObject({ error: 40100, challenge: BARE })
    const announced = ['Content-Type: application/json', 'Content-Length: 1000000']
    expect(await ask('POST /write', ...announced)).toMatchObject({ status: 401 })
    expect(await ask('POST /write', 'Authorization: Bearer reader', ...announced)).toMatchObject({ status: 403 })
  })
})

describe('a route', () => {
  it('requires a token with its scope, and HEAD the same scope as GET', async () => {
    const statusOf = async (target: string, token: string) =>
      (await ask(target, `Authorization: Bearer ${token}`, 'Content-Length: 0')).status
    for (const [target, one, other, scope] of [
      ['POST /write', 'writer', 'reader', 'plants:write'],
      ['GET /read', 'reader', 'writer', 'plants:read'],
    ] as const) {
      expect([await statusOf(target, 'all'), await statusOf(target, one)]).toEqual([200, 200])
      const challenge = `${BARE}, error="insufficient_scope", scope="${scope}"`
      const refused = await ask(target, `Authorization: Bearer ${other}`, 'Content-Length: 0')
      expect(refused).toMatchObject({ status: 403, error: 40300, challenge })
    }
    expect([await statusOf('HEAD /read', 'reader'), await statusOf('HEAD /read', 'writer')]).toEqual([200, 403])
  })

  it('that is public needs no token, and ignores any', async () => {
    for (const line of ['Accept: */*', 'Authorization: Bearer wrong'])
      expect(await ask('GET /open', line)).toMatchObject({ status: 200, caller: '' })
  })

  it('needs a scope, wherever it is registered', async () => {
    const app = await openApp()
    expect(() => addRoute(app, 'get', '/forgotten', {})).toThrow('GET /forgotten declares no scope')
    const part = app.register(async (part) => void addRoute(part, 'post', '/forgotten', { config: {} }))
    await expect(part).rejects.toThrow('POST /forgotten declares no scope')
  })
})
