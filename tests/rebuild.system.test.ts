import { randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { newPlant } from './support/generated-plants.ts'
import { createPlantStore, openRedis, type PlantStore } from './support/plant-store.ts'
import { type Ended, startPlantctl } from './support/plantctl.ts'
import { startSteadyLoad } from './support/steady-load.ts'
import { readStoredPartition } from './support/stored-partition.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'

const stores = { kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') }
const WAIT_MS = 60_000
const PROBLEMS = 3

const run = (store: PlantStore, ...args: string[]): Promise<Ended> =>
  startPlantctl(args, store.environment).ended

async function expectRun(store: PlantStore, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await run(store, ...args)
  expect({ args, code, output: code === 0 ? '' : stdout + stderr }).toEqual({ args, code: 0, output: '' })
}

/** Appends the events of `plants` plants; every tenth id is claimed twice. */
async function fill(store: PlantStore, plants: number): Promise<void> {
  const appender = createAppender(store.kafka, store.topic)
  const eventId = () => randomUUID() as EventId
  for (let at = 0; at < plants; at += 1_000) {
    const ids = Array.from({ length: Math.min(1_000, plants - at) }, (_, n) => BigInt(-1_000_000 - at - n))
    const again = ids.filter((id) => id % 10n === 0n)
    await appender.append(
      [...ids, ...again].map((id) => plantCreated(newPlant(id), eventId(), store.partitions)),
    )
  }
  await appender.close()
}

async function generationsOf({ readModel, partitions }: PlantStore): Promise<string[]> {
  const metas = await Promise.all(allPartitions(partitions).map((partition) => readModel.meta(partition)))
  return metas.map(({ generation }) => generation)
}

/** The contents of the live generation of each partition, key by key. */
async function contentOf(store: PlantStore) {
  const redis = openRedis(store.environment.REDIS_URL)
  return Promise.all(allPartitions(store.partitions).map((p) => readStoredPartition(redis, store.topic, p)))
}

/** Expects no keys in Redis besides those of the live generations. */
async function expectNothingLeft(store: PlantStore): Promise<void> {
  const redis = openRedis(store.environment.REDIS_URL)
  const live = await generationsOf(store)
  const keys = await redis.keys(`{${store.topic}:*`)
  const others = keys.filter(
    (key) => !key.endsWith(':live') && !live.some((name) => key.includes(`:${name}:`)),
  )
  expect(others).toEqual([])
}

it('three rebuilds under full load cause no failed or wrong response, and serve the fold of the log', async () => {
  const store = await createPlantStore(stores)
  await fill(store, 10_000)
  const [first, second] = await Promise.all([store.startApi(), store.startApi(), store.startProjector()])
  const before = await generationsOf(store)
  const load = startSteadyLoad([first.url, second.url])
  onTestFinished(load.stop)
  const during: number[] = []
  await vi.waitFor(() => expect(load.done.creates).toBeGreaterThan(500), WAIT_MS)
  for (let round = 0; round < 3; round++) {
    const before = load.done.creates
    await expectRun(store, 'rebuild')
    during.push(load.done.creates - before)
  }
  await expectRun(store, 'verify')
  await load.stop()

  expect(load.wrong).toEqual([])
  expect(Math.min(...during, load.done.lists, load.done.absences, load.done.duplicates)).toBeGreaterThan(0)
  const after = await generationsOf(store)
  expect(after.filter((generation) => before.includes(generation))).toEqual([])
  await expectReadModelToEqual(await readTruth(store), store)
  await expectRun(store, 'verify')
  await expectNothingLeft(store)
})

it('rebuilds that are killed leave the served plants unchanged, and the next one completes', async () => {
  const store = await createPlantStore(stores)
  await fill(store, 10_000)
  const [api] = await Promise.all([store.startApi(), store.startProjector()])
  await expectReadModelToEqual(await readTruth(store), store)
  const before = await contentOf(store)
  const load = startSteadyLoad([api.url])
  onTestFinished(load.stop)
  let killed = 0
  for (let round = 0; round < 6; round++) {
    const rebuild = startPlantctl(['rebuild'], store.environment)
    const keys = () => openRedis(store.environment.REDIS_URL).keys(`{${store.topic}:*}:filling`)
    if (round % 2 === 0) {
      // In the middle of its work: as soon as it fills.
      await vi.waitFor(async () => expect(await keys()).not.toEqual([]), { timeout: WAIT_MS, interval: 5 })
    } else {
      const creates = load.done.creates + Math.floor(Math.random() * 800)
      await vi.waitFor(() => expect(load.done.creates).toBeGreaterThan(creates), {
        timeout: WAIT_MS,
        interval: 5,
      })
    }
    rebuild.kill('SIGKILL')
    if ((await rebuild.ended).code === null) killed++
    expect((await run(store, 'status', '--json')).code).not.toBe(1)
  }
  await expectRun(store, 'rebuild')
  await load.stop()

  expect(killed).toBeGreaterThan(2)
  expect(load.wrong).toEqual([])
  await expectReadModelToEqual(await readTruth(store), store)
  await expectRun(store, 'verify')
  await expectNothingLeft(store)
  // The plants from before the first rebuild are still there, in the same order.
  for (const [partition, { plants, order }] of (await contentOf(store)).entries()) {
    const earlier = before[partition]
    expect(order.slice(0, earlier?.order.length)).toEqual(earlier?.order)
    for (const [id, claim] of earlier?.plants ?? []) expect(plants.get(id)).toEqual(claim)
  }
})

it('a rebuild equals the live read model for a log with void claims, foreign records and unreadable payloads', async () => {
  const store = await createPlantStore(stores)
  await fill(store, 2_000)
  const eventId = () => randomUUID() as EventId
  const appender = createAppender(store.kafka, store.topic)
  const records = Array.from({ length: 300 }, (_, n) =>
    plantCreated(newPlant(BigInt(n)), eventId(), store.partitions),
  )
  const changed = records.map((record, n) => {
    const { headers } = record
    if (n % 6 === 0) return { ...record, headers: { ...headers, ce_type: Buffer.from('SomethingElse') } }
    if (n % 6 === 1) return { ...record, key: Buffer.from('no id') }
    if (n % 6 === 2) return { ...record, headers: { ...headers, ce_id: Buffer.from('x') } }
    if (n % 6 === 3)
      return { ...record, headers: { ...headers, 'content-type': Buffer.from('x; version=9') } }
    if (n % 6 === 4) return { ...record, value: Buffer.from('{') }
    return { ...record, partition: ((record.partition + 1) % store.partitions) as typeof record.partition }
  })
  await appender.append(changed)
  await appender.append(records)
  await appender.close()
  await store.startProjector()
  const truth = await readTruth(store)
  await expectReadModelToEqual(truth, store)
  const live = await contentOf(store)
  expect(live.reduce((sum, { parked }) => sum + parked.size, 0)).toBe(300)

  await expectRun(store, 'rebuild')
  expect(await contentOf(store)).toEqual(live)
  await expectReadModelToEqual(truth, store)
})

it('a lost Redis is filled with --from-empty without a projector, and refused without the option', async () => {
  const store = await createPlantStore(stores)
  await fill(store, 3_000)
  const projector = await store.startProjector()
  const truth = await readTruth(store)
  await expectReadModelToEqual(truth, store)
  const before = await contentOf(store)
  await projector.stop({ graceMs: 10_000 })
  const redis = openRedis(stores.redisUrl)
  await redis.del(...(await redis.keys(`{${store.topic}:*`)))

  const refused = await run(store, 'rebuild')
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toMatch(/--from-empty/)
  expect((await run(store, 'verify')).code).toBe(PROBLEMS)
  await expectRun(store, 'rebuild', '--from-empty')
  expect(await contentOf(store)).toEqual(before)
  await expectRun(store, 'verify')
})
