import { readFileSync } from 'node:fs'
import { digestOf } from '@plant-store/shared/access/token-entry.ts'
import { beforeAll, expect, it } from 'vitest'
import { createPlant, errorOf, readPlant } from './support/client.ts'
import { AUDIENCE, ISSUER, openIssuer } from './support/issuer.ts'
import { openPlantStore, type RunningApi } from './support/plant-store.ts'
import { openRaw } from './support/raw-connection.ts'

const TOKENS = {
  all: 'the-token-that-may-do-everything-1',
  late: 'the-token-that-has-expired-long-ago',
}
/** The subject of the JWTs; their contents are not logged either. */
const SUBJECT = 'someone-of-whom-nobody-hears'

let api: RunningApi
let issuer: Awaited<ReturnType<typeof openIssuer>>
/** Every token that was sent. */
const sent = new Set<string>()

beforeAll(async () => {
  issuer = await openIssuer()
  const store = await openPlantStore()
  const [all, late] = [TOKENS.all, TOKENS.late].map((token) => digestOf(token).toString('hex'))
  ;[api] = await Promise.all([
    store.startApi({
      LOG_LEVEL: 'debug',
      PLANT_STORE_TOKEN_DIGESTS: `all:${all}, late:${late} expires=2020-01-01T00:00:00Z`,
      ...{ JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: issuer.url },
    }),
    store.startProjector(),
  ])
  return async () => {
    await store.end()
    await issuer.end()
  }
})

function bearer(token: string): { authorization: string } {
  sent.add(token)
  return { authorization: `Bearer ${token}` }
}
const create = async (id: bigint, token: string, headers: Record<string, string> = {}) =>
  (await createPlant(api.url, id, 'Monstera', { ...bearer(token), ...headers })).response

it('an Idempotency-Key belongs to its caller: a retry by another caller is a different request', async () => {
  const key = { 'idempotency-key': 'key-1' }
  expect(await create(10n, await issuer.sign({ sub: 'all', jti: '1' }), key)).toMatchObject({ status: 200 })
  expect(await create(10n, await issuer.sign({ sub: 'all', jti: '2' }), key)).toMatchObject({ status: 200 })
  expect(errorOf(await create(10n, TOKENS.all, key))).toBe(40003)
  expect(errorOf(await create(10n, await issuer.sign({ sub: 'ann' }), key))).toBe(40003)
})

it('neither a token nor a part of one is ever logged', async () => {
  for (const rejected of [TOKENS.late, await issuer.sign({ aud: 'others', sub: SUBJECT })])
    expect(errorOf(await readPlant(api.url, 1n, bearer(rejected)))).toBe(40101)
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
  for (const token of sent) for (const part of partsOf(token)) expect(log).not.toContain(part)
  expect(log).not.toContain(SUBJECT)
  expect(log).not.toMatch(/authorization|bearer/i)
})

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
async function sendAndReset(request: string): Promise<void> {
  const { socket, write, reset, closed } = openRaw(api.url)
  socket.on('data', reset)
  write(request)
  await closed
}
