import { randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { newPlant } from './support/generated-plants.ts'
import { createPlantStore, openRedis } from './support/plant-store.ts'
import { contentOf, expectNothingLeft, expectRun, fill, generationsOf, run } from './support/rebuilt-store.ts'
import { startSteadyLoad } from './support/steady-load.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'

const stores = { kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') }
const WAIT_MS = 60_000
const PROBLEMS = 3

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

it('a rebuild equals the live read model for a log with void claims, foreign records and unreadable payloads', async () => {
  const store = await createPlantStore(stores)
  await fill(store, 2_000)
  const eventId = () => randomUUID() as EventId
  const appender = createAppender(store.kafka, store.topic)
  const records = Array.from({ length: 300 }, (_, n) => plantCreated(newPlant(BigInt(n)), eventId(), store.partitions))
  const changed = records.map((record, n) => {
    const { headers } = record
    if (n % 6 === 0) return { ...record, headers: { ...headers, ce_type: Buffer.from('SomethingElse') } }
    if (n % 6 === 1) return { ...record, key: Buffer.from('no id') }
    if (n % 6 === 2) return { ...record, headers: { ...headers, ce_id: Buffer.from('x') } }
    if (n % 6 === 3) return { ...record, headers: { ...headers, 'content-type': Buffer.from('x; version=9') } }
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
