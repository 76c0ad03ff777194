import { randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { expect, inject, it } from 'vitest'
import { newPlant } from './support/generated-plants.ts'
import { createPlantStore, openRedis } from './support/plant-store.ts'
import { rebuildUnderLoad } from './support/rebuild-under-load.ts'
import { contentOf, expectRun, fill, run } from './support/rebuilt-store.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'

const stores = { kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') }
const PROBLEMS = 3

it('a rebuild under full load causes no failed or wrong response, and serves the fold of the log', () =>
  rebuildUnderLoad(1))

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
