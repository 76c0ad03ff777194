import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Message } from 'kafkajs'
import { expect, it } from 'vitest'
import { type Create, createPlant, idsFrom, readPlant } from './support/client.ts'
import { corpus, messageOf } from './support/corpus.ts'
import { startCreates } from './support/endless-creates.ts'
import { eventually } from './support/eventually.ts'
import { scrape, sumOf } from './support/metrics-text.ts'
import { newEvent } from './support/new-events.ts'
import { openProducer, openTransactional } from './support/other-producers.ts'
import { startOwnKafka, startOwnRedis } from './support/own-stores.ts'
import { createPlantStore, openRedis, type RunningService, startPlantStore } from './support/plant-store.ts'
import { expectHalt, untilNotReady, untilReady } from './support/readiness.ts'
import { expectTruth } from './support/truth.ts'

/** Ids from here on are no one else's. */
const UNTAKEN = 9_000_000n

const notCreated = (creates: readonly Create[]) => creates.filter(({ response }) => response?.status !== 200)

const metricOf = async (service: RunningService, name: string) => sumOf(await scrape(service), name)

const untilItHas = (projector: RunningService, partitions: number) =>
  eventually(async () => expect(await metricOf(projector, 'plant_store_projector_partitions')).toBe(partitions))

/** States in which Redis responds and rejects writes: reason, start and end. */
const REFUSALS: [RegExp, (redis: Redis) => Promise<unknown>, (redis: Redis) => Promise<unknown>][] = [
  [
    /records are not applied: .*OOM/,
    (redis) => redis.config('SET', 'maxmemory', '1'),
    (redis) => redis.config('SET', 'maxmemory', '0'),
  ],
  [
    /records are not applied: .*READONLY/,
    (redis) => redis.replicaof('127.0.0.1', 1),
    (redis) => redis.replicaof('NO', 'ONE'),
  ],
]

it('a Redis that is full or a replica only delays the projector; one that may evict plants ends services', async () => {
  const [kafka, own] = await Promise.all([startOwnKafka(), startOwnRedis()])
  const { store, api, projector } = await startPlantStore({ kafkaBrokers: kafka.brokers, redisUrl: own.url })
  const redis = openRedis(own.url)
  const load = startCreates(api.url)
  for (const [reason, begin, end] of REFUSALS) {
    await load.untilMore(100)
    await begin(redis)
    await untilNotReady(projector, reason)
    await load.untilMore(100)
    await end(redis)
    await untilReady(projector, api)
  }
  const creates = await load.stop()
  expect(notCreated(creates)).toEqual([])
  await expectTruth(store, creates)

  // So that their end takes a while.
  await kafka.pause()
  await redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
  const reason = /set maxmemory-policy to noeviction \(it is allkeys-lru\)/
  await Promise.all(
    [api, projector].map(async (service) => {
      expect(await untilNotReady(service, reason)).toHaveLength(1)
      await expectHalt(service, reason)
    }),
  )
  await kafka.resume()
  for (const start of [store.startApi, store.startProjector])
    await expect(start()).rejects.toThrow(/exit code 78.*set maxmemory-policy to noeviction/s)
})

it('a projector and an api paused beyond their sessions: others take over, and the zombies do no harm', async () => {
  const store = await createPlantStore()
  const [[api, sleeper], [zombie, other]] = await Promise.all([
    Promise.all([store.startApi(), store.startApi()]),
    Promise.all([store.startProjector(), store.startProjector()]),
  ])
  await Promise.all([untilItHas(zombie, 3), untilItHas(other, 3)])
  const load = startCreates(api.url)
  await load.untilMore(100)
  for (const { pid } of [zombie, sleeper]) process.kill(pid, 'SIGSTOP')
  await untilItHas(other, 6)
  const duringPause = await createPlant(api.url, UNTAKEN, 'during the pause')
  const position = String(duringPause.response?.headers['plants-position'])
  await load.untilMore(100)
  for (const { pid } of [zombie, sleeper]) process.kill(pid, 'SIGCONT')
  await load.untilMore(100)
  await Promise.all([untilItHas(zombie, 3), untilItHas(other, 3), untilReady(sleeper)])
  expect((await readPlant(sleeper.url, UNTAKEN, { 'plants-position': position }))?.status).toBe(200)
  const creates = [...(await load.stop()), duringPause, await createPlant(sleeper.url, UNTAKEN + 1n, 'later')]
  expect(notCreated(creates)).toEqual([])
  await expectTruth(store, creates)
  await untilReady(zombie, other)
})

/** Records that no producer can have intended. The last ones claim their id, though this release cannot read them. */
function poison(partitions: number): Message[] {
  const event = (id: bigint) => newEvent(id, partitions)
  const foreign = corpus.filter(({ read }) => read.is === 'foreign')
  const newer = event(UNTAKEN + 1n)
  newer.headers['content-type'] = Buffer.from('application/json; version=9')
  return [
    ...foreign.map(({ partition, record }) => messageOf({ partition, ...record })),
    { ...event(UNTAKEN), value: randomBytes(700_000), headers: { ce_type: randomBytes(100_000) } },
    newer,
    { ...event(UNTAKEN + 2n), value: null },
    { ...event(UNTAKEN + 3n), value: Buffer.from('['.repeat(200_000)) },
  ]
}
const UNREADABLE_IDS = idsFrom(Number(UNTAKEN) + 1, 3)

it('unreadable and foreign records are parked and counted, when appended and again when replayed, and creates continue', async () => {
  const own = await startOwnRedis()
  const { store, api, projector } = await startPlantStore({ redisUrl: own.url })
  const [producer, inTransactions] = [await openProducer(store.kafka), await openTransactional(store.kafka)]
  const load = startCreates(api.url)
  for (const record of poison(store.partitions)) {
    await load.untilMore(5)
    await producer.send({ topic: store.topic, messages: [record] })
  }
  for (const end of ['abort', 'commit', 'abort'] as const) {
    const transaction = await inTransactions.transaction()
    await transaction.send({ topic: store.topic, messages: poison(store.partitions) })
    await transaction[end]()
    await load.untilMore(20)
  }
  const creates = await load.stop()
  expect(notCreated(creates)).toEqual([])

  await expectTruth(store, creates)
  await untilReady(projector, api)
  const kinds = poison(store.partitions).length
  expect(await metricOf(projector, 'plant_store_projector_parked_total')).toBe(2 * kinds)
  for (const id of UNREADABLE_IDS) {
    expect((await createPlant(api.url, id, 'again')).response?.body).toMatchObject({ error: 40003 })
    expect((await readPlant(api.url, id))?.body).toMatchObject({ error: 50001 })
  }

  await openRedis(own.url).flushall()
  await expectTruth(store, creates)
  expect(await metricOf(projector, 'plant_store_projector_parked_total')).toBe(4 * kinds)
})
