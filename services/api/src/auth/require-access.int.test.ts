import type { AddressInfo } from 'node:net'
import { digestOf, parseTokenEntries } from '@plant-store/shared/access/token-entry.ts'
import fastify, { type FastifyInstance, type RouteShorthandOptions } from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
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

/** The app with a route for each scope, at a port of this machine. */
async function listening() {
  const app = await openApp()
  addRoute(app, 'get', '/read', { config: { scope: 'plants:read' } })
  addRoute(app, 'post', '/write', { config: { scope: 'plants:write' } })
  addRoute(app, 'get', '/open', { config: { scope: 'public' } })
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  const { port } = app.server.address() as AddressInfo

  /** Sends header lines unchanged, and returns status, challenge and error number or caller. */
  const ask = async (target: string, ...lines: string[]) => {
    const head = [`${target} HTTP/1.1`, 'Host: x', 'Connection: close', ...lines].join('\r\n')
    const { write, closed, received } = openRaw(`http://127.0.0.1:${port}`)
    write(`${head}\r\n\r\n`)
    await closed
    const response = received()
    const status = Number(/^HTTP\/1.1 (\d+) /.exec(response)?.[1])
    const challenge = /\r\nwww-authenticate: (.*)\r\n/i.exec(response)?.[1]
    const body = /\{.*\}/.exec(response)?.[0]
    return {
      status,
      challenge,
      ...(body && (JSON.parse(body) as { error?: number; caller?: string })),
    }
  }
  return { ask, with: (header: string, path = '/read') => ask(`GET ${path}`, `Authorization: ${header}`) }
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
    const api = await listening()
    expect(await api.with(header)).toMatchObject({ status: 200, caller })
  })

  it.each([
    ['no token', 'Bearer', 40100, BARE],
    ['another scheme', 'Basic YTpi', 40100, BARE],
    ['a scheme that begins like ours', 'Bearers all', 40100, BARE],
    ['the token alone', 'all', 40100, BARE],
    ['a quoted token', 'Bearer "all"', 40101, INVALID],
    ['two tokens', 'Bearer all all', 40101, INVALID],
    ['a tab', 'Bearer\tall', 40101, INVALID],
    ['letters that no token has', 'Bearer äll', 40101, INVALID],
    ['a wrong token', 'Bearer wrong', 40101, INVALID],
    ['a token that is too long', `Bearer ${LONGEST}x`, 40101, INVALID],
    ['an expired token', 'Bearer late', 40101, `${INVALID}, error_description="the token has expired"`],
  ])('is rejected with %s', async (_what, header, error, challenge) => {
    const api = await listening()
    expect(await api.with(header)).toEqual({ status: 401, error, challenge, message: expect.any(String) })
  })

  it('is rejected with more than one Authorization header, even if they are equal', async () => {
    const { ask } = await listening()
    for (const second of ['Bearer all', 'Basic YTpi', '']) {
      expect(await ask('GET /read', 'Authorization: Bearer all', `AUTHORIZATION: ${second}`)).toMatchObject({
        status: 400,
        error: 40000,
        challenge: `${BARE}, error="invalid_request"`,
      })
    }
  })

  it('is rejected with a token in the query or a form', async () => {
    const { ask } = await listening()
    const form = ['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 16', '', 'access_token=all']
    expect(await ask('GET /read?access_token=all')).toMatchObject({ error: 40100, challenge: BARE })
    expect(await ask('POST /write', ...form)).toMatchObject({ error: 40100, challenge: BARE })
  })

  it('is rejected before its body is read', async () => {
    const { ask } = await listening()
    const announced = ['Content-Type: application/json', 'Content-Length: 1000000']
    expect(await ask('POST /write', ...announced)).toMatchObject({ status: 401 })
    expect(await ask('POST /write', 'Authorization: Bearer reader', ...announced)).toMatchObject({
      status: 403,
    })
  })
})

describe('a route', () => {
  it('requires a token with its scope, and HEAD the same scope as GET', async () => {
    const { ask } = await listening()
    const refused = (scope: string) => ({
      status: 403,
      error: 40300,
      challenge: `${BARE}, error="insufficient_scope", scope="${scope}"`,
    })
    const post = (token: string) => ask('POST /write', `Authorization: Bearer ${token}`, 'Content-Length: 0')
    const get = (token: string) => ask('GET /read', `Authorization: Bearer ${token}`)
    const head = (token: string) => ask('HEAD /read', `Authorization: Bearer ${token}`)
    for (const token of ['all', 'writer']) expect(await post(token)).toMatchObject({ status: 200 })
    for (const token of ['all', 'reader']) expect(await get(token)).toMatchObject({ status: 200 })
    for (const token of ['all', 'reader']) expect(await head(token)).toMatchObject({ status: 200 })
    expect(await post('reader')).toMatchObject(refused('plants:write'))
    expect(await get('writer')).toMatchObject(refused('plants:read'))
    expect(await head('writer')).toMatchObject({ status: 403 })
  })

  it('that is public needs no token, and ignores any', async () => {
    const { ask } = await listening()
    for (const line of ['Accept: */*', 'Authorization: Bearer wrong']) {
      expect(await ask('GET /open', line)).toMatchObject({ status: 200, caller: '' })
    }
  })

  it('needs a scope, wherever it is registered', async () => {
    const app = await openApp()
    expect(() => addRoute(app, 'get', '/forgotten', {})).toThrow('GET /forgotten declares no scope')
    const part = app.register(async (part) => void addRoute(part, 'post', '/forgotten', { config: {} }))
    await expect(part).rejects.toThrow('POST /forgotten declares no scope')
  })
})
