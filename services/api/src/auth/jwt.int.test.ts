import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../../tests/support/eventually.ts'
import { AUDIENCE, type Claims, ISSUER, startIssuer } from '../../../../tests/support/issuer.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { jwts } from './jwt.ts'
import { type KeySetLimits, openKeySet } from './key-set.ts'

const TOLERANCE_SECONDS = 5
const NOW_SECONDS = Date.parse('2027-01-31T00:00:00Z') / 1000
const GOOD = { iss: ISSUER, aud: AUDIENCE, sub: 'ann', exp: NOW_SECONDS + 60 }
const ANN = 'jwt:["https://id.example","ann"]'

/** Keys are fetched for no age, and again for each token that names an unknown one. */
const AT_EACH_TOKEN = { refreshEveryMs: 2 ** 30, coolDownMs: 0, failureCoolDownMs: 0 }
const ALL_THE_TIME = { refreshEveryMs: 5, failureCoolDownMs: 0 }

/** An issuer with the key `one`, and what accepts its JWTs. */
async function openIssuer(limits?: Partial<KeySetLimits>) {
  const issuer = await startIssuer()
  const sign = (claims: Claims = {}, kid = 'one') => issuer.sign({ ...GOOD, ...claims }, { kid })
  return { ...issuer, issuer, sign, ...accept(issuer.url, limits) }
}

function accept(url: string, limits: Partial<KeySetLimits> = AT_EACH_TOKEN) {
  const logged: string[] = []
  const rejections: unknown[][] = []
  const write = (...line: unknown[]) => logged.push(String(line.at(-1)))
  const debug = (...line: unknown[]) => rejections.push(line)
  const log = { ...quietLog, error: write, info: write, debug } as unknown as Log
  const keys = openKeySet(url, log, limits)
  onTestFinished(keys.close)
  const now = () => NOW_SECONDS * 1000
  const strategy = jwts({ issuer: ISSUER, audience: AUDIENCE, keyOf: keys.keyOf, now, log })
  /** The caller, `unknown`, or the name of the failure. */
  const callerOf = (token: string) =>
    strategy(token).then(
      (access) => access?.caller ?? 'unknown',
      ({ failure }: { failure?: string }) => failure ?? 'an unexpected error',
    )
  return { strategy, callerOf, logged, rejections, problems: keys.problems, close: keys.close }
}

describe('a JWT', () => {
  it('has the caller and scopes of its claims', async () => {
    const { strategy, sign } = await openIssuer()
    for (const [scope, scopes] of [
      ['openid plants:read email plants:read', ['plants:read']],
      ['plants:read plants:write', ['plants:write', 'plants:read']],
      ...[undefined, '', 'plants:', 'PLANTS:READ', 'plants:read,plants:write', ['plants:read']].map((no) => [no, []]),
    ])
      expect(await strategy(await sign({ scope }))).toEqual({ caller: ANN, scopes })
    // Never the caller of an opaque token or of another issuer.
    expect(await strategy(await sign({ sub: '","' }))).toMatchObject({ caller: 'jwt:["https://id.example","\\",\\""]' })
  })

  it.each<[string, Claims, string]>([
    ['another audience', { aud: 'others' }, 'invalidToken'],
    ['another issuer', { iss: 'https://other.example' }, 'unknown'],
    ['no expiry', { exp: undefined }, 'invalidToken'],
    ['an expiry within the tolerance', { exp: NOW_SECONDS - TOLERANCE_SECONDS + 1 }, ANN],
    ['an expiry beyond the tolerance', { exp: NOW_SECONDS - TOLERANCE_SECONDS }, 'invalidToken'],
    ['no subject', { sub: undefined }, 'invalidToken'],
    ['a subject that is too long', { sub: 'x'.repeat(256) }, 'invalidToken'],
  ])('with %s', async (_what, claims, expected) => {
    const { callerOf, sign, rejections } = await openIssuer()
    expect(await callerOf(await sign(claims))).toBe(expected)
    // Nothing else of the token.
    const failed = { code: expect.stringMatching(/^ERR_JWT_/), claim: Object.keys(claims)[0] }
    expect(rejections).toEqual(expected === ANN ? [] : [[failed, 'rejected a JWT']])
  })

  it('that has expired is rejected as expired', async () => {
    const { strategy, sign } = await openIssuer()
    await expect(strategy(await sign({ exp: 1 }))).rejects.toMatchObject({
      headers: { 'www-authenticate': expect.stringContaining('error_description="the token has expired"') },
    })
  })

  it.each([
    ...['RS256', 'PS512', 'ES384', 'Ed25519', 'EdDSA'].map((alg) => [alg, ANN] as const),
    // It is not allowed.
    ['ML-DSA-44', 'invalidToken'] as const,
  ])('that is signed with %s: %s', async (alg, expected) => {
    const issuer = await startIssuer()
    const { publicKey, privateKey } = await generateKeyPair(alg)
    const keys = JSON.stringify({ keys: [await exportJWK(publicKey)] })
    issuer.respond = (response) => response.end(keys)
    const { callerOf } = accept(issuer.url)
    expect(await callerOf(await new SignJWT(GOOD).setProtectedHeader({ alg }).sign(privateKey))).toBe(expected)
  })

  it('is invalid with a signature that needs no private key', async () => {
    const { callerOf, publicKey } = await openIssuer()
    const key = await publicKey('one')
    const claims = encode(GOOD)
    expect(await callerOf(`${encode({ alg: 'none' })}.${claims}.`)).toBe('unknown')
    expect(await callerOf(`${encode({ alg: 'none' })}.${claims}.AAAA`)).toBe('invalidToken')
    for (const secret of [await exportSPKI(key), JSON.stringify(await exportJWK(key)), '']) {
      const signed = `${encode({ alg: 'HS256', kid: 'one' })}.${claims}`
      const signature = createHmac('sha256', secret).update(signed).digest('base64url')
      expect(await callerOf(`${signed}.${signature}`)).toBe('invalidToken')
    }
  })

  it('is invalid with a key of its own, or one from an address that it names', async () => {
    const { callerOf } = await openIssuer()
    const impostor = await startIssuer()
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    for (const header of [{ jwk: await exportJWK(publicKey) }, { jku: impostor.url }, { crit: ['x'], x: 1 }]) {
      const token = new SignJWT(GOOD).setProtectedHeader({ alg: 'ES256', kid: 'one', ...header })
      expect(await callerOf(await token.sign(privateKey, { crit: { x: true } }))).toBe('invalidToken')
    }
    expect(impostor.requests.count).toBe(0)
  })

  it('causes no fetch of keys unless it is a JWT of the issuer', async () => {
    const { callerOf, sign, requests } = await openIssuer()
    expect(await callerOf(await sign())).toBe(ANN)
    const before = requests.count
    const [head, claims] = (await sign({}, 'two')).split('.')
    const others = await sign({ iss: 'https://other.example' }, 'two')
    for (const token of ['a-token', 'a.b', 'a.b.c', 'a.b.c.d', '..', `${head}.b.c`, `a.${claims}.c`, others]) {
      expect(await callerOf(token)).toMatch(/unknown|invalidToken/)
    }
    expect(await callerOf(`${encode({ alg: 'HS256', kid: 'two' })}.${claims}.c`)).toBe('invalidToken')
    expect(requests.count).toBe(before)
  })
})

describe('the keys', () => {
  it('are fetched again for a token that names a new key, and withdrawn keys are no longer accepted', async () => {
    const { callerOf, sign, publish } = await openIssuer()
    expect(await callerOf(await sign())).toBe(ANN)
    await publish('two')
    expect(await callerOf(await sign({}, 'two'))).toBe(ANN)
    expect(await callerOf(await sign())).toBe('invalidToken')
  })

  it('are fetched for unknown names once per cool-down', async () => {
    const { callerOf, sign, requests } = await openIssuer({ ...AT_EACH_TOKEN, coolDownMs: 600_000 })
    expect(await callerOf(await sign())).toBe(ANN)
    for (const kid of ['two', 'three', 'four']) expect(await callerOf(await sign({}, kid))).toBe('invalidToken')
    expect(requests.count).toBe(1)
  })

  it('are fetched periodically without any token', async () => {
    const { issuer, callerOf, sign, publish } = await openIssuer(ALL_THE_TIME)
    expect(await callerOf(await sign())).toBe(ANN)
    await publish('two')
    const before = issuer.requests.count
    await eventually(() => expect(issuer.requests.count).toBeGreaterThan(before + 2))
    expect(await callerOf(await sign())).toBe('invalidToken')
  })
})

type Outage = (response: ServerResponse) => unknown
const OUTAGES: [string, Outage, RegExp][] = [
  ['answers 500', (response) => response.writeHead(500).end('{"keys":[]}'), /the response had status 500/],
  ['sends elsewhere', (response) => response.writeHead(302, { location: '/' }).end(), /the response had status 302/],
  ['answers no keys', (response) => response.end('{"error":"x"}'), /is not a JWKS/],
  ['is silent', () => {}, /the request timed out/],
  ['answers without end', sendForEver, /larger than 262144 bytes/],
]

it.each(OUTAGES)('an issuer that %s makes no token invalid, and is logged once', async (_what, outage, reason) => {
  const limits = { ...AT_EACH_TOKEN, timeoutMs: reason.source.includes('timed out') ? 1_000 : 10_000 }
  const { issuer, callerOf, sign, publish, logged, problems } = await openIssuer(limits)
  expect(await callerOf(await sign())).toBe(ANN)
  issuer.respond = outage
  for (const kid of ['two', 'three', 'four']) expect(await callerOf(await sign({}, kid))).toBe('tokensUncheckable')
  expect(logged).toEqual([expect.stringMatching(reason)])
  expect(problems()).toEqual(logged)
  // Known keys are in use.
  expect(await callerOf(await sign())).toBe(ANN)
  expect(await callerOf(await sign({ aud: 'others' }))).toBe('invalidToken')
  await publish('one', 'two')
  issuer.respond = issuer.respondWithKeys
  expect(await callerOf(await sign({}, 'two'))).toBe(ANN)
  expect(logged).toEqual([expect.anything(), 'fetching the JWT keys works again'])
  expect(problems()).toEqual([])
})

describe('an outage', () => {
  const refuse: Outage = (response) => response.writeHead(500).end()

  it('does not cause a fetch for each token', async () => {
    const issuer = await startIssuer()
    issuer.respond = refuse
    const { callerOf } = accept(issuer.url, { ...AT_EACH_TOKEN, failureCoolDownMs: 600_000 })
    for (let n = 0; n < 5; n++) expect(await callerOf(await issuer.sign(GOOD))).toBe('tokensUncheckable')
    expect(issuer.requests.count).toBe(1)
  })

  it('ends the use of known keys at their maximum age', async () => {
    const { issuer, callerOf, sign } = await openIssuer({ ...AT_EACH_TOKEN, maxAgeMs: 0 })
    expect(await callerOf(await sign())).toBe(ANN)
    issuer.respond = refuse
    expect(await callerOf(await sign())).toBe('tokensUncheckable')
  })

  it('is distinguished from an unusable key', async () => {
    const issuer = await startIssuer()
    const keys = [{ kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', kid: 'one' }]
    issuer.respond = (response) => response.end(JSON.stringify({ keys }))
    const { callerOf, logged } = accept(issuer.url)
    for (let n = 0; n < 3; n++) expect(await callerOf(await issuer.sign(GOOD))).toBe('tokensUncheckable')
    expect(logged).toEqual(['a key of JWT_JWKS_URL cannot be used to check JWTs'])
  })
})

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

function sendForEver(response: ServerResponse): void {
  const spaces = new Readable({ read: () => void spaces.push(' '.repeat(65_536)) })
  spaces.pipe(response)
}
