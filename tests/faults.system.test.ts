import { expect, inject, it, vi } from 'vitest'
import { type Create, createPlant, errorOf, onConnections, readPlant } from './support/client.ts'
import { startOwnKafka, startOwnRedis } from './support/own-stores.ts'
import { createPlantStore, openRedis } from './support/plant-store.ts'
import { expectReadModelToEqual, expectResponsesToBeTrue, readTruth } from './support/truth.ts'

const kafkaBrokers = inject('kafkaBrokers')
const stores = { kafkaBrokers, redisUrl: inject('redisUrl') }
const RECOVERY_MS = 60_000
const COVERAGE_GAP = 50303

/** Ids in order, while `goOn` returns true. */
function* idsWhile(goOn: () => boolean): Generator<bigint> {
  for (let id = 0n; goOn(); id++) yield id
}

it('FLUSHALL during creates: no second 200, no false 404, and creates resume', async () => {
  const redis = await startOwnRedis()
  const store = await createPlantStore({ kafkaBrokers, redisUrl: redis.url })
  const [first, projector] = await Promise.all([store.startApi(), store.startProjector()])
  const earlier = Array.from({ length: 1_000 }, (_, n) => BigInt(-1 - n))
  const creates = await onConnections(16, earlier, (id) => createPlant(first.url, id, `earlier ${id}`))
  // The window of this api starts after the plants above: without the read model it knows no id.
  const second = await store.startApi()
  const seen = { creates: 0, gaps: 0, resumed: 0 }
  const reads: { id: bigint; status: number | undefined }[] = []
  let refilling = false

  async function createAndRead(id: bigint, connection: number): Promise<void> {
    const { url } = connection % 2 === 0 ? first : second
    const create = await createPlant(url, id, `first ${id}`)
    creates.push(create, await createPlant(url, id, `second ${id}`))
    seen.creates++
    if (errorOf(create.response) === COVERAGE_GAP) seen.gaps++
    if (create.response?.status !== 200) return
    if (refilling && url === second.url) seen.resumed++
    for (const known of [id, earlier[Number(id) % earlier.length] as bigint]) {
      reads.push({ id: known, status: (await readPlant(url, known))?.status })
    }
  }
  const clients = onConnections(
    16,
    idsWhile(() => seen.resumed < 1_000),
    createAndRead,
  )
  const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: RECOVERY_MS })
  await until(() => seen.creates > 1_000)
  process.kill(projector.pid, 'SIGSTOP')
  await openRedis(redis.url).flushall()
  await until(() => seen.gaps > 10)
  process.kill(projector.pid, 'SIGCONT')
  refilling = true
  await clients

  expect(reads.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
  const truth = await readTruth(store)
  expectResponsesToBeTrue(creates, truth)
  await expectReadModelToEqual(truth, store)
})

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
