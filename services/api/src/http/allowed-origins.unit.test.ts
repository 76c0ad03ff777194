import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDefaultApp } from '../../../../local/describe.ts'
import { isOrigin } from './allowed-origins.ts'

const ORIGIN = 'https://app.example'
const OTHER = 'https://other.example'

type App = Awaited<ReturnType<typeof createDefaultApp>>
type Method = 'GET' | 'POST' | 'OPTIONS' | 'DELETE'
const methods = fc.constantFrom<Method>('GET', 'POST', 'OPTIONS', 'DELETE')
const paths = fc.constantFrom('/plants', '/plants/1', '/plants/', '/plants/%zz', '/nothing', '/openapi.json', '/docs')

let app: App
let plain: App

beforeAll(async () => {
  app = await createDefaultApp({ env: { CORS_ORIGINS: `${ORIGIN},http://localhost:8080` } })
  plain = await createDefaultApp()
})
afterAll(async () => {
  await app.close()
  await plain.close()
})

describe('an origin', () => {
  it('is a scheme, a host and perhaps a port, as browsers send them', () => {
    fc.assert(
      fc.property(fc.constantFrom('http', 'https'), fc.webAuthority({ withPort: true }), (scheme, authority) => {
        const { origin } = new URL(`${scheme}://${authority}`)
        expect(isOrigin(origin)).toBe(true)
        expect(isOrigin(`${origin}/`)).toBe(false)
        expect(isOrigin(`${origin}/a`)).toBe(false)
      }),
    )
  })

  it.each([
    ...['', '*', 'null', 'app.example', 'https://*.example', 'https://*', 'HTTPS://app.example'],
    ...['https://app.example:443', 'https://u:p@app.example', 'https://app.example?a', 'file:///a', 'ws://app.example'],
  ])('is not %j', (text) => expect(isOrigin(text)).toBe(false))
})

describe('with origins', () => {
  it('every response to one of them can be read by its page, failures included', async () => {
    await fc.assert(
      fc.asyncProperty(methods, paths, async (method, url) => {
        const response = await app.inject({ method, url, headers: { origin: ORIGIN } })
        expect(response.headers).toMatchObject({ 'access-control-allow-origin': ORIGIN, vary: 'Origin' })
        expect(response.headers['access-control-allow-credentials']).toBeUndefined()
      }),
    )
  })

  it.each([OTHER, 'null', 'http://localhost', `${ORIGIN}.other.example`, 'https://APP.example'])(
    'nothing allows %s',
    async (origin) => {
      const headers = { origin, 'access-control-request-method': 'POST' }
      for (const method of ['GET', 'OPTIONS'] as const) {
        const response = await app.inject({ method, url: '/plants', headers })
        expect(response.headers['access-control-allow-origin']).toBeUndefined()
      }
    },
  )

  it('every response is as without them, which has no headers about them, unless it is to a preflight', async () => {
    await fc.assert(
      fc.asyncProperty(methods, paths, fc.constantFrom(undefined, ORIGIN, OTHER), async (method, url, origin) => {
        const request = { method, url, headers: { 'x-request-id': 'same', ...(origin && { origin }) } }
        const [one, other] = await Promise.all([app.inject(request), plain.inject(request)])
        const { date: _, vary: __, ...headers } = one.headers
        const rest = Object.entries(headers).filter(([name]) => !name.startsWith('access-control-'))
        const { date: ___, ...expected } = other.headers
        expect([one.statusCode, one.body, Object.fromEntries(rest)]).toEqual([other.statusCode, other.body, expected])
      }),
    )
  })

  it('a preflight needs no token, and allows what the contract has', async () => {
    const headers = { origin: ORIGIN, 'access-control-request-method': 'POST' }
    const preflight = { method: 'OPTIONS', url: '/plants', headers } as const
    expect((await plain.inject(preflight)).statusCode).toBe(405)
    const response = await app.inject(preflight)
    expect(response).toMatchObject({ statusCode: 204, body: '' })
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers':
        'Authorization, Content-Type, Idempotency-Key, Plants-Position, If-None-Match, X-Request-Id, traceparent, tracestate',
      'access-control-expose-headers':
        'Plants-Position, Location, ETag, Cache-Control, Vary, RateLimit-Policy, RateLimit, X-Request-Id, WWW-Authenticate, ' +
        'Retry-After, Allow, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset',
      'access-control-max-age': '7200',
    })
  })

  it('a malformed preflight is refused as any other malformed request', async () => {
    const headers = { origin: ORIGIN, 'access-control-request-method': 'POST', 'transfer-encoding': 'gzip, chunked' }
    const response = await app.inject({ method: 'OPTIONS', url: '/plants', headers })
    expect(response.json()).toMatchObject({ error: 40000 })
    expect(response.headers.connection).toBe('close')
  })
})
