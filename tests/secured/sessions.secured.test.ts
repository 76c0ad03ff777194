import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPlant, idsWhile, onConnections } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { createPlantStore } from '../support/plant-store.ts'
import { untilReady } from '../support/readiness.ts'
import { startSecuredKafka } from '../support/secured-kafka.ts'

const USER = 'plants'
const SESSION_MS = 2_000
const SESSIONS = 6
const CONNECTIONS = 8

let kafka: Awaited<ReturnType<typeof startSecuredKafka>>

beforeAll(async () => {
  kafka = await startSecuredKafka({
    users: [USER],
    moreSettings: { 'connections.max.reauth.ms': String(SESSION_MS) },
  })
  await kafka.allowAll(USER)
})
afterAll(() => kafka?.stop())

it('no create fails while sessions of 2 s begin and end', async () => {
  const settings = kafka.loginOf(USER)
  const store = await createPlantStore({ kafkaBrokers: kafka.brokers })
  const services = await Promise.all([store.startApi(settings), store.startProjector(settings)])
  const until = Date.now() + SESSIONS * SESSION_MS
  const ids = idsWhile(() => Date.now() < until)
  const creates = await onConnections(CONNECTIONS, ids, (id) => createPlant(services[0].url, id, 'Monstera'))
  expect(creates.length).toBeGreaterThan(SESSIONS * CONNECTIONS)
  expect(creates.filter(({ response }) => response?.status !== 200)).toEqual([])
  await untilReady(...services)
  await eventually(async () => {
    const { checkpoint } = await store.readModel.meta(0 as never)
    expect(checkpoint.offset).toBeGreaterThan(0)
  })
})
