import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { digestOf } from '@plant-store/shared/access/token-entry.ts'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { createPlant, errorOf, readPlant, send } from './support/client.ts'
import { AUDIENCE, ISSUER, openIssuer } from './support/issuer.ts'
import { startOwnRedis } from './support/own-stores.ts'
import { createPlantStore, openPlantStore, type RunningApi, TOKEN } from './support/plant-store.ts'

const TOKENS = {
  all: 'the-token-that-may-do-everything-1',
  reader: 'the-token-that-may-read-plants-22',
  writer: 'the-token-that-may-write-plants-3',
  late: 'the-token-that-has-expired-long-ago',
}
/** The subject of the JWTs; their contents are not logged either. */
const SUBJECT = 'someone-of-whom-nobody-hears'
const UNKNOWN = 'the-token-that-was-never-given-out'
const ATTRIBUTES = {
  all: '',
  reader: ' plants:read',
  writer: ' plants:write',
  late: ' expires=2020-01-01T00:00:00Z',
}
const CHALLENGE = 'Bearer realm="plants"'
const INVALID = `${CHALLENGE}, error="invalid_token"`

let api: RunningApi
let issuer: Awaited<ReturnType<typeof openIssuer>>
const closers: (() => Promise<void>)[] = []
/** Every token that was sent. */
const sent = new Set<string>()

beforeAll(async () => {
  issuer = await openIssuer()
  closers.push(issuer.end)
  const store = await openPlantStore({ kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') })
  closers.push(store.end)
  const entries = Object.entries(TOKENS).map(
    ([label, token]) => `${label}:${digestOf(token).toString('hex')}${ATTRIBUTES[label as keyof typeof ATTRIBUTES]}`,
  )
  ;[api] = await Promise.all([
    store.startApi({
      LOG_LEVEL: 'debug',
      PLANT_STORE_TOKEN_DIGESTS: entries.join(', '),
      ...{ JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: issuer.url },
    }),
    store.startProjector(),
  ])
})
afterAll(async () => {
  for (const close of closers.reverse()) await close()
})

function bearer(token: string): { authorization: string } {
  sent.add(token)
  return { authorization: `Bearer ${token}` }
}
const create = async (id: bigint, token: string, headers: Record<string, string> = {}) =>
  (await createPlant(api.url, id, 'Monstera', { ...bearer(token), ...headers })).response
const read = (id: bigint, token: string) => readPlant(api.url, id, bearer(token))

it('each operation requires its scope, from a token or a JWT', async () => {
  const refused = (scope: string) => ({
    status: 403,
    body: { error: 40300 },
    headers: { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  })
  const jwt = (scope: string) => issuer.sign({ scope })
  expect(await create(1n, TOKENS.writer)).toMatchObject({ status: 200 })
  expect(await read(1n, TOKENS.reader)).toMatchObject({ status: 200 })
  expect(await create(2n, await jwt('plants:write'))).toMatchObject({ status: 200 })
  expect(await read(2n, await jwt('openid plants:read'))).toMatchObject({ status: 200 })
  for (const token of [TOKENS.reader, await jwt('plants:read'), await jwt('openid')]) {
    expect(await create(3n, token)).toMatchObject(refused('plants:write'))
  }
  for (const token of [TOKENS.writer, await jwt('plants:write')]) {
    expect(await read(1n, token)).toMatchObject(refused('plants:read'))
    const head = await send(`${api.url}/plants/1`, { method: 'HEAD', headers: bearer(token) })
    expect(head).toMatchObject({ status: 403 })
  }
  expect(await read(3n, TOKENS.all)).toMatchObject({ status: 404 })
})

it('invalid credentials are rejected before anything else of the request is checked', async () => {
  const now = Math.floor(Date.now() / 1000)
  const challenges: [string, string][] = [
    [UNKNOWN, INVALID],
    ['not a token', INVALID],
    [`${UNKNOWN}${'x'.repeat(8_192)}`, INVALID],
    [TOKENS.late, `${INVALID}, error_description="the token has expired"`],
    [await issuer.sign({ exp: now - 60, sub: SUBJECT }), `${INVALID}, error_description="the token has expired"`],
    [await issuer.sign({ aud: 'others', sub: SUBJECT }), INVALID],
    [await issuer.sign({ iss: 'https://other.example' }), INVALID],
    [`${await issuer.sign()}x`, INVALID],
    [`${UNKNOWN}.${UNKNOWN}.${UNKNOWN}`, INVALID],
  ]
  for (const [token, challenge] of challenges) {
    const wrongBody = {
      method: 'POST',
      headers: { 'content-type': 'text/plain', ...bearer(token) },
      body: '{',
    }
    for (const response of [await read(1n, token), await send(`${api.url}/plants`, wrongBody)]) {
      expect(response).toMatchObject({
        ...{ status: 401, body: { error: 40101 } },
        headers: { 'www-authenticate': challenge },
      })
    }
  }
  const query = await send(`${api.url}/plants/1?access_token=${TOKENS.all}`, {
    headers: { authorization: '' },
  })
  expect(query).toMatchObject({ body: { error: 40100 }, headers: { 'www-authenticate': CHALLENGE } })
})

it('an Idempotency-Key belongs to its caller: a retry by another caller is a different request', async () => {
  const key = { 'idempotency-key': 'key-1' }
  expect(await create(10n, await issuer.sign({ sub: 'all', jti: '1' }), key)).toMatchObject({ status: 200 })
  expect(await create(10n, await issuer.sign({ sub: 'all', jti: '2' }), key)).toMatchObject({ status: 200 })
  expect(errorOf(await create(10n, TOKENS.all, key))).toBe(40003)
  expect(errorOf(await create(10n, await issuer.sign({ sub: 'ann' }), key))).toBe(40003)
})

it('while the issuer does not respond, JWTs with a known key are accepted and others get a 503', async () => {
  expect(await create(20n, TOKENS.writer)).toMatchObject({ status: 200 })
  issuer.respond = (response) => response.writeHead(500).end()
  await issuer.publish('one', 'two')
  // Until the time is up for which no key is fetched again.
  const unknown = { headers: bearer(await issuer.sign({}, { kid: 'two' })) }
  const later = expect.poll(() => send(`${api.url}/plants/20`, unknown), { timeout: 30_000, interval: 500 })
  await later.toMatchObject({ status: 503, body: { error: 50305 }, headers: { 'retry-after': '1' } })
  expect(await read(20n, await issuer.sign())).toMatchObject({ status: 200 })
  expect(await read(20n, TOKENS.reader)).toMatchObject({ status: 200 })
  issuer.respond = issuer.respondWithKeys
  const again = expect.poll(() => send(`${api.url}/plants/20`, unknown), { timeout: 30_000, interval: 500 })
  await again.toMatchObject({ status: 200 })
})

it('neither a token nor a part of one is ever logged', async () => {
  const token = await issuer.sign({ sub: SUBJECT })
  const lines = `Host: x\r\n${authorization(token)}\r\n${authorization(TOKENS.all)}\r\n`
  const withOne = `Host: x\r\n${authorization(TOKENS.all)}\r\n`
  for (const request of [
    `GET /plants/1 HTTP/1.1\r\n${lines}\r\n`,
    `GET /plants/1?access_token=${TOKENS.all} HTTP/1.1\r\nHost: x\r\n\r\n`,
    `GET /${TOKENS.all} HTTP/1.1\r\n${withOne}\r\n`,
    `GET /plants/1 HTTP/1.1\r\n${withOne}nonsense\r\n\r\n`,
    `GET /plants/1 HTTP/1.1\r\n${withOne}X: ${'x'.repeat(20_000)}\r\n\r\n`,
    `POST /plants HTTP/1.1\r\n${withOne}Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{`,
    `POST /plants HTTP/1.1\r\n${withOne}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
    `POST /plants HTTP/1.1\r\n${withOne}Expect: tea\r\n\r\n`,
    `CONNECT x:1 HTTP/1.1\r\n${withOne}\r\n`,
    `${authorization(TOKENS.all)}\r\n\r\n`,
  ]) {
    await sendAndReset(request)
  }
  const log = readFileSync(api.logFile, 'utf8')
  expect(log).toContain('"rejected a JWT"')
  expect(log).toContain('cannot fetch the JWT keys')
  expectNoTokenIn(log)
})

it('no token is logged when Redis fails during requests', async () => {
  const redis = await startOwnRedis()
  const store = await createPlantStore({ kafkaBrokers: inject('kafkaBrokers'), redisUrl: redis.url })
  const settings = { LOG_LEVEL: 'debug', READ_DEADLINE_MS: '100', CREATE_DEADLINE_MS: '200' }
  const [{ url, logFile }] = await Promise.all([store.startApi(settings), store.startProjector()])
  sent.add(TOKEN)
  await redis.stop()
  for (let id = 0n; id < 5n; id++) {
    expect(await readPlant(url, id)).toMatchObject({ status: 503 })
    expect((await createPlant(url, id, 'Monstera')).response).toMatchObject({ status: 503 })
  }
  const log = readFileSync(logFile, 'utf8')
  expect(log).toContain('"err":')
  expectNoTokenIn(log)
})

function expectNoTokenIn(log: string): void {
  for (const token of sent) for (const part of partsOf(token)) expect(log).not.toContain(part)
  expect(log).not.toContain(SUBJECT)
  expect(log).not.toMatch(/authorization|bearer/i)
}

function authorization(token: string): string {
  sent.add(token)
  return `Authorization: Bearer ${token}`
}

const PART_CHARACTERS = 16
function partsOf(token: string): string[] {
  return Array.from({ length: Math.max(1, token.length - PART_CHARACTERS + 1) }, (_, at) =>
    token.slice(at, at + PART_CHARACTERS),
  )
}

/** Sends it, waits for what comes back, and resets the connection. */
function sendAndReset(request: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1', () => socket.write(request))
    socket.on('data', () => socket.resetAndDestroy())
    socket.on('error', reject)
    socket.on('close', () => resolve())
  })
}
