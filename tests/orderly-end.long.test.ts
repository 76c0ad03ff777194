import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { type Create, createPlant, errorOf, send } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { AUDIENCE, ISSUER, startIssuer } from './support/issuer.ts'
import { startOwnKafka, startOwnRedis } from './support/own-stores.ts'
import { openRedis, startApiAlone, TOKEN } from './support/plant-store.ts'
import { openRaw } from './support/raw-connection.ts'
import { expectResponsesToBeTrue, readTruth } from './support/truth.ts'

const CONNECTIONS = 64
/** Between the connections of a client while an api ends. */
const PAUSE_MS = 100
/** Longer than an api takes to end. */
const HANGS_MS = 20_000
const auth = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\n`
const [NOT_WRITTEN, OUTCOME_UNKNOWN] = [50301, 50302]

it('SIGTERM under load: each request gets a response, which closes the connection, and new ones are accepted for all of DRAIN_MS', async () => {
  // Longer than the usual limit of its end.
  const { store, api } = await startApiAlone({ api: { DRAIN_MS: '12000' } })
  const creates: Create[] = []
  let next = 0n

  /** Creates plants on one connection until a response closes it; false without a response. */
  async function createUntilClosed(): Promise<boolean> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, agent }
    while (true) {
      const id = next++
      const response = await send(`${api.url}/plants`, { ...options, body: `{"id":${id},"name":"plant ${id}"}` })
      if (response === undefined) return false
      creates.push({ id, name: `plant ${id}`, response })
      if (response.headers.connection === 'close') return true
    }
  }
  const clients = Array.from({ length: CONNECTIONS }, createUntilClosed)
  await vi.waitFor(() => expect(creates.length).toBeGreaterThan(1_000), { timeout: 60_000, interval: 5 })
  const startedAt = performance.now()
  process.kill(api.pid, 'SIGTERM')
  expect(await Promise.all(clients)).toEqual(Array(CONNECTIONS).fill(true))
  let lastAt = 0
  while (await createUntilClosed()) {
    lastAt = performance.now() - startedAt
    await delay(PAUSE_MS)
  }
  expect(lastAt).toBeGreaterThan(11_000)

  expect(await api.exited).toMatchObject({ code: 0 })
  expect(creates.filter(({ response }) => response?.status !== 200)).toEqual([])
  expectResponsesToBeTrue(creates, await readTruth(store))
})

it('SIGTERM while Kafka hangs: each create in flight gets the outcome that is known, and the process exits', async () => {
  const kafka = await startOwnKafka()
  const { store, api } = await startApiAlone({ kafkaBrokers: kafka.brokers })
  expect((await createPlant(api.url, 0n, 'before')).response?.status).toBe(200)
  await kafka.pause()
  const creates = Array.from({ length: 50 }, (_, n) => createPlant(api.url, BigInt(n + 1), `plant ${n + 1}`))
  // All of them are accepted: a later request on another connection has its response.
  await eventually(async () => expect((await send(`${api.url}/nothing`, {}))?.status).toBe(404))
  process.kill(api.pid, 'SIGTERM')
  const settled = await Promise.all(creates)

  expect(await api.exited).toMatchObject({ code: 0 })
  for (const { response } of settled) {
    expect([NOT_WRITTEN, OUTCOME_UNKNOWN]).toContain(errorOf(response))
    expect(response?.headers).toMatchObject({ 'retry-after': '1', connection: 'close' })
  }
  await kafka.resume()
  const truth = await readTruth(store)
  for (const { id, response } of settled) {
    if (errorOf(response) === NOT_WRITTEN) expect(truth.winner(id)).toBeUndefined()
  }
})

it('all pipelined requests of a connection get a response before it closes; a second SIGTERM cuts the drain short', async () => {
  const { api } = await startApiAlone({ api: { DRAIN_MS: '120000' } })
  const idle = openRaw(api.url)
  await eventually(() => expect(idle.socket.readyState).toBe('open'))
  process.kill(api.pid, 'SIGTERM')
  await eventually(async () => {
    expect(await (await fetch(`${api.opsUrl}/readyz`)).json()).toMatchObject({ reasons: ['stopping'] })
  })
  const ids = Array.from({ length: 20 }, (_, n) => n + 10)
  idle.write(ids.map(creating).join(''))
  await idle.closed
  expect(idle.responses().map(({ status }) => status)).toEqual(ids.map(() => 200))
  expect(idle.responses().at(-1)).toMatchObject({ headers: { connection: 'close' } })
  process.kill(api.pid, 'SIGTERM')
  expect(await endWithin(60_000, api.exited)).toMatchObject({ code: 0 })
})

it('reads that wait when an api closes get a response, and none is accepted afterwards', async () => {
  const { api } = await startApiAlone({ api: { READ_DEADLINE_MS: '60000', DRAIN_MS: '0' } })
  const waiting = openRaw(api.url)
  waiting.write(`GET /plants/1 HTTP/1.1\r\n${auth}Plants-Position: 0-999999\r\n\r\n`)
  await eventually(async () => expect((await send(`${api.url}/nothing`, {}))?.status).toBe(404))
  process.kill(api.pid, 'SIGTERM')
  await eventually(async () => expect(await fetch(`${api.url}/nothing`).catch(() => 'refused')).toBe('refused'))
  waiting.write(`GET /plants/2 HTTP/1.1\r\n${auth}\r\n`)
  await waiting.closed
  expect(waiting.responses().map(({ body }) => JSON.parse(body).error)).toEqual([50303, 50300])
  expect(waiting.responses()[1]).toMatchObject({ headers: { connection: 'close', 'retry-after': '1' } })
  expect(await api.exited).toMatchObject({ code: 0 })
})

it('what waits for an issuer or a Redis that hangs gets a response in time when an api closes', async () => {
  const [issuer, redis] = [await startIssuer(), await startOwnRedis()]
  issuer.respond = (response) => response.writeHead(500).end()
  const jwt = { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: issuer.url }
  const { api } = await startApiAlone({
    redisUrl: redis.url,
    api: { READ_DEADLINE_MS: '60000', DRAIN_MS: '0', ...jwt },
  })
  let isFetching = false
  issuer.respond = () => {
    isFetching = true
  }
  await openRedis(redis.url).client('PAUSE', HANGS_MS)
  const authorization = `Bearer ${await issuer.sign()}`
  const read = (headers = {}) => send(`${api.url}/plants/1`, { headers })
  const [ofRedis, ofIssuer] = [read(), [read({ authorization })]]
  // For a second after the failed fetch there is no other one.
  await eventually(async () => {
    ofIssuer.push(read({ authorization }))
    expect(isFetching).toBe(true)
  })
  // All of them are accepted: a later request has its response.
  await eventually(async () => expect((await send(`${api.url}/nothing`, {}))?.status).toBe(404))
  process.kill(api.pid, 'SIGTERM')
  expect(errorOf(await ofRedis)).toBe(50303)
  expect(new Set((await Promise.all(ofIssuer)).map(errorOf))).toEqual(new Set([50305]))
  expect(await api.exited).toMatchObject({ code: 0 })
})

it('a failure during the drain cuts it short, and is told', async () => {
  const redis = await startOwnRedis()
  const { api } = await startApiAlone({ redisUrl: redis.url, api: { DRAIN_MS: '120000' } })
  process.kill(api.pid, 'SIGTERM')
  await openRedis(redis.url).config('SET', 'maxmemory-policy', 'allkeys-lru')
  expect(await endWithin(60_000, api.exited)).toMatchObject({ code: 78 })
  expect(readFileSync(api.logFile, 'utf8')).toMatch(/"stopped: Redis would evict plants/)
})

const endWithin = <T>(ms: number, exited: Promise<T>) => Promise.race([exited, delay(ms, undefined, { ref: false })])

function creating(id: number): string {
  const body = `{"id":${id},"name":"n"}`
  return `POST /plants HTTP/1.1\r\n${auth}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}
