import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
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
  return async () => {
    await app.close()
    await plain.close()
  }
})

it('an origin is a scheme, a host and perhaps a port, as browsers send them', () => {
  fc.assert(
    fc.property(fc.constantFrom('http', 'https'), fc.webAuthority({ withPort: true }), (scheme, authority) => {
      const { origin } = new URL(`${scheme}://${authority}`)
      expect([isOrigin(origin), isOrigin(`${origin}/`)]).toEqual([true, false])
    }),
  )
  for (const text of [
    ...['', '*', 'null', 'app.example', 'https://*.example', 'https://*', 'HTTPS://app.example', 'file:///a'],
    ...['https://app.example:443', 'https://u:p@app.example', 'https://app.example?a', 'ws://app.example'],
  ])
    expect([text, isOrigin(text)]).toEqual([text, false])
})

describe('with origins', () => {
  it('every response is as without them, but to one of them can be read by its page, failures included', async () => {
    const origins = fc.constantFrom(undefined, ORIGIN, OTHER, 'null', 'http://localhost', `${ORIGIN}.other.example`)
    await fc.assert(
      fc.asyncProperty(methods, paths, origins, async (method, url, origin) => {
        const request = { method, url, headers: { 'x-request-id': 'same', ...(origin && { origin }) } }
        const [one, other] = await Promise.all([app.inject(request), plain.inject(request)])
        const { date: _, vary: __, ...headers } = one.headers
        const added = Object.entries(headers).filter(([name]) => name.startsWith('access-control-allow-'))
        expect(added).toEqual(origin === ORIGIN ? [['access-control-allow-origin', ORIGIN]] : [])
        if (origin === ORIGIN) expect(one.headers.vary).toBe('Origin')
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
    const ofOther = await app.inject({ ...preflight, headers: { ...headers, origin: OTHER } })
    expect(ofOther.headers['access-control-allow-origin']).toBeUndefined()
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
})
