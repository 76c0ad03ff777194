import { expect, inject, it, vi } from 'vitest'
import { type Create, createPlant, errorOf, idsWhile, onConnections } from './support/client.ts'
import { startOwnKafka } from './support/own-stores.ts'
import { createPlantStore } from './support/plant-store.ts'
import { untilNotReady, untilReady } from './support/readiness.ts'
import { setTopicConfig } from './support/topic.ts'
import { expectReadModelToEqual, expectResponsesToBeTrue, readTruth } from './support/truth.ts'

const kafkaBrokers = inject('kafkaBrokers')
const stores = { kafkaBrokers, redisUrl: inject('redisUrl') }
const RECOVERY_MS = 60_000

it('kill -9 of the projector: creates continue, and the next projector catches up', async () => {
  const store = await createPlantStore(stores)
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector()])
  const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => BigInt(from + n))
  const create = (id: bigint) => createPlant(api.url, id, `plant ${id}`)
  const before = await onConnections(16, ids(0, 1_000), create)

  process.kill(projector.pid, 'SIGKILL')
  await projector.exited
  const whileAway = await onConnections(16, ids(1_000, 3_000), create)
  await store.startProjector()
  const afterwards = await onConnections(16, ids(3_000, 4_000), create)

  const creates = [...before, ...whileAway, ...afterwards]
  expect(creates.filter(({ response }) => response?.status !== 200)).toEqual([])
  await expectReadModelToEqual(await readTruth(store), store)
})

it('kill -9 of an api under load: every 200 it sent is in the log', async () => {
  const store = await createPlantStore(stores)
  const [api] = await Promise.all([store.startApi(), store.startProjector()])
  let alive = true
  const creates: Create[] = []
  const clients = onConnections(
    64,
    idsWhile(() => alive),
    async (id) => {
      creates.push(await createPlant(api.url, id, `plant ${id}`))
    },
  )
  await vi.waitFor(() => expect(creates.length).toBeGreaterThan(3_000), { timeout: RECOVERY_MS, interval: 5 })
  process.kill(api.pid, 'SIGKILL')
  await api.exited
  alive = false
  await clients

  expect(creates.filter(({ response }) => response === undefined).length).toBeGreaterThan(0)
  const truth = await readTruth(store)
  expectResponsesToBeTrue(creates, truth)
  await expectReadModelToEqual(truth, store)

  const successor = await store.startApi()
  const again = await createPlant(successor.url, 0n, 'another name')
  expect(errorOf(again.response)).toBe(40003)
})

it('kill -9 of the broker: every response is true, and creates resume', async () => {
  const kafka = await startOwnKafka()
  const store = await createPlantStore({ kafkaBrokers: kafka.brokers, redisUrl: stores.redisUrl })
  const [api] = await Promise.all([store.startApi(), store.startProjector()])
  const creates: Create[] = []
  let back = false
  let resumed = 0
  const clients = onConnections(
    16,
    idsWhile(() => resumed < 1_000),
    async (id) => {
      const create = await createPlant(api.url, id, `plant ${id}`)
      creates.push(create)
      if (back && create.response?.status === 200) resumed++
    },
  )
  await vi.waitFor(() => expect(creates.length).toBeGreaterThan(1_000), { timeout: RECOVERY_MS })
  await kafka.crashAndStartAgain()
  back = true
  await clients

  const truth = await readTruth(store)
  expectResponsesToBeTrue(creates, truth)
  await expectReadModelToEqual(truth, store)
})

it('appends that fail for more than 10 s are named while creates wait for them', async () => {
  const store = await createPlantStore(stores)
  const [api] = await Promise.all([store.startApi({ CREATE_DEADLINE_MS: '60000' }), store.startProjector()])
  // A change of settings replaces all of them.
  const kept = { 'retention.ms': '-1', 'retention.bytes': '-1' }
  await setTopicConfig(store, { ...kept, 'max.message.bytes': '1' })
  const waiting = createPlant(api.url, 1n, 'Monstera')
  expect(await untilNotReady(api, /kafka: no append acknowledged for 1\d s/)).toHaveLength(2)
  await setTopicConfig(store, { ...kept, 'max.message.bytes': '1000000' })
  expect((await waiting).response?.status).toBe(200)
  await untilReady(api)
})
