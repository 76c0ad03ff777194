import { Agent } from 'node:http'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { type Create, createPlant, errorOf, send } from './support/client.ts'
import { startOwnKafka } from './support/own-stores.ts'
import { createPlantStore, TOKEN } from './support/plant-store.ts'
import { openRaw } from './support/raw-connection.ts'
import { expectAnswersToBeTrue, readTruth } from './support/truth.ts'

const stores = { kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') }
const CONNECTIONS = 64
const auth = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\n`
const [NOT_WRITTEN, OUTCOME_UNKNOWN] = [50301, 50302]

it('SIGTERM under load: each request that was sent is answered, and each connection told to end', async () => {
  const store = await createPlantStore(stores)
  const [api] = await Promise.all([store.startApi(), store.startProjector()])
  const creates: Create[] = []
  let next = 0n

  /** Creates plants on one connection until an answer says that it ends. */
  async function createUntilToldToEnd(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    while (true) {
      const id = next++
      const name = `plant ${id}`
      const answer = await send(`${api.url}/plants`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' }, agent },
        body: JSON.stringify({ id: Number(id), name }),
      })
      creates.push({ id, name, answer })
      if (answer?.headers.connection === 'close' || answer === undefined) return
    }
  }
  const clients = Array.from({ length: CONNECTIONS }, createUntilToldToEnd)
  await vi.waitFor(() => expect(creates.length).toBeGreaterThan(3_000), { timeout: 60_000, interval: 5 })
  process.kill(api.pid, 'SIGTERM')
  await Promise.all(clients)

  expect(await api.exited).toMatchObject({ code: 0 })
  expect(creates.filter(({ answer }) => answer?.status !== 200)).toEqual([])
  expect(creates.filter(({ answer }) => answer?.headers.connection === 'close')).toHaveLength(CONNECTIONS)
  expectAnswersToBeTrue(creates, await readTruth(store))
})

it('SIGTERM while Kafka hangs: each create under way is told what is known of it, and the process leaves', async () => {
  const kafka = await startOwnKafka()
  const store = await createPlantStore({ kafkaBrokers: kafka.brokers, redisUrl: stores.redisUrl })
  const [api] = await Promise.all([store.startApi(), store.startProjector()])
  expect((await createPlant(api.url, 0n, 'before')).answer?.status).toBe(200)
  await kafka.pause()
  const creates = Array.from({ length: 50 }, (_, n) => createPlant(api.url, BigInt(n + 1), `plant ${n + 1}`))
  // Taken in, all of them: what comes after them on a connection of its own is answered.
  await vi.waitFor(async () => expect((await send(`${api.url}/nothing`, {}))?.status).toBe(404))
  process.kill(api.pid, 'SIGTERM')
  const answered = await Promise.all(creates)

  expect(await api.exited).toMatchObject({ code: 0 })
  for (const { answer } of answered) {
    expect([NOT_WRITTEN, OUTCOME_UNKNOWN]).toContain(errorOf(answer))
    expect(answer?.headers).toMatchObject({ 'retry-after': '1', connection: 'close' })
  }
  await kafka.resume()
  const truth = await readTruth(store)
  for (const { id, answer } of answered) {
    if (errorOf(answer) === NOT_WRITTEN) expect(truth.winner(id)).toBeUndefined()
  }
})

it('until it closes its connections, each takes one request more, and is told to end with its answer', async () => {
  const { api, idle } = await openBeforeTheEnd()
  idle.write(creating(1))
  await idle.closed
  expect(idle.answers()).toMatchObject([{ status: 200, headers: { connection: 'close' } }])
  expect(await api.exited).toMatchObject({ code: 0 })
})

it('until it closes its connections, all that came at once on one is answered before that ends', async () => {
  const { api, idle } = await openBeforeTheEnd()
  const ids = Array.from({ length: 20 }, (_, n) => n + 10)
  idle.write(ids.map(creating).join(''))
  await idle.closed
  expect(idle.answers().map(({ status }) => status)).toEqual(ids.map(() => 200))
  expect(idle.answers().at(-1)).toMatchObject({ headers: { connection: 'close' } })
  expect(await api.exited).toMatchObject({ code: 0 })
})

it('what waits when an api closes is answered, and nothing is taken in after it', async () => {
  const store = await createPlantStore(stores)
  const [api] = await Promise.all([
    store.startApi({ READ_DEADLINE_MS: '2500', DRAIN_MS: '0' }),
    store.startProjector(),
  ])
  const waiting = openRaw(api.url)
  waiting.write(`GET /plants/1 HTTP/1.1\r\n${auth}Plants-Position: 0-999999\r\n\r\n`)
  await vi.waitFor(async () => expect((await send(`${api.url}/nothing`, {}))?.status).toBe(404))
  process.kill(api.pid, 'SIGTERM')
  await vi.waitFor(async () =>
    expect(await fetch(`${api.url}/nothing`).catch(() => 'refused')).toBe('refused'),
  )
  waiting.write(`GET /plants/2 HTTP/1.1\r\n${auth}\r\n`)
  await waiting.closed
  expect(waiting.answers().map(({ body }) => JSON.parse(body).error)).toEqual([50303, 50300])
  expect(waiting.answers()[1]).toMatchObject({ headers: { connection: 'close', 'retry-after': '1' } })
  expect(await api.exited).toMatchObject({ code: 0 })
})

/** An api that was told to end and still takes requests, and a connection to it that has asked nothing yet. */
async function openBeforeTheEnd() {
  const store = await createPlantStore(stores)
  const [api] = await Promise.all([store.startApi({ DRAIN_MS: '3000' }), store.startProjector()])
  const idle = openRaw(api.url)
  await vi.waitFor(() => expect(idle.socket.readyState).toBe('open'))
  process.kill(api.pid, 'SIGTERM')
  await vi.waitFor(async () => {
    expect(await (await fetch(`${api.opsUrl}/readyz`)).json()).toMatchObject({ reasons: ['stopping'] })
  })
  return { api, idle }
}

function creating(id: number): string {
  const body = `{"id":${id},"name":"n"}`
  return `POST /plants HTTP/1.1\r\n${auth}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}
