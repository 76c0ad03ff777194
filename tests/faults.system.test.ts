import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LOG } from '@plant-store/shared/event-log/topic.ts'
import { type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { type Create, createPlant, errorOf, idsFrom, readPlant } from './support/client.ts'
import { startCreates } from './support/endless-creates.ts'
import { eventually } from './support/eventually.ts'
import { openTransactional } from './support/other-producers.ts'
import { startOwnKafka } from './support/own-stores.ts'
import { createPlantStore, openRedis, startPlantStore } from './support/plant-store.ts'
import { untilNotices, untilNotReady, untilReady } from './support/readiness.ts'
import { pointerOf } from './support/stored-partition.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import { setTopicConfig } from './support/topic.ts'
import { expectTruth } from './support/truth.ts'

it('kill -9 of an api under load: every 200 it sent is in the log', async () => {
  const { store, api } = await startPlantStore()
  const load = startCreates(api.url)
  await load.untilMore(1_000)
  process.kill(api.pid, 'SIGKILL')
  await api.exited
  const creates = await load.stop()

  expect(creates.filter(({ response }) => response === undefined).length).toBeGreaterThan(0)
  await expectTruth(store, creates)

  const successor = await store.startApi()
  const again = await createPlant(successor.url, 0n, 'another name')
  expect(errorOf(again.response)).toBe(40003)
})

it('kill -9 of the broker, and one that does not respond for 10 s, which is named: creates wait, and succeed', async () => {
  const kafka = await startOwnKafka()
  const settings = { CREATE_DEADLINE_MS: '120000', QUEUE_MAX_AGE_MS: '120000' }
  const { store, api } = await startPlantStore({ kafkaBrokers: kafka.brokers, api: settings })
  const load = startCreates(api.url)
  await load.untilMore(1_000)
  await kafka.crashAndStartAgain()
  await load.untilMore(1_000)
  await kafka.pause()
  await untilNotices(
    api,
    /^partitions? [\d, -]+: no append acknowledged for 10 s: (no response|Kafka cannot be reached)/,
  )
  await kafka.resume()
  await load.untilMore(1_000)
  const creates = await load.stop()

  expect(creates.filter(({ response }) => response?.status !== 200)).toEqual([])
  await expectTruth(store, creates)
  await untilReady(api)
})

it('an api whose clock Kafka does not accept, a record that it refuses, and an open transaction fail only their creates', async () => {
  const store = await createPlantStore()
  const clockFile = join(temporaryFolder(), 'off-ms')
  writeFileSync(clockFile, String(2 * 3_600_000))
  const clock = new URL('chaos/clock.ts', import.meta.url).href
  const [ahead, right] = await Promise.all([
    store.startApi({ CREATE_DEADLINE_MS: '120000', CLOCK_FILE: clockFile, NODE_OPTIONS: `--import ${clock}` }),
    store.startApi(),
  ])
  const settings = { ...LOG.required, 'max.message.bytes': '3000' }
  await setTopicConfig(store, { ...settings, 'message.timestamp.after.max.ms': String(3 * 3_600_000) })
  const names = Array.from({ length: 40 }, (_, n) => (n % 10 === 0 ? '🌵'.repeat(1_000) : `plant ${n}`))
  const creates = await Promise.all(names.map((name, n) => createPlant(ahead.url, BigInt(n), name)))
  const errors = creates.map(({ response }) => errorOf(response))
  expect(errors).toEqual(names.map((_, n) => (n % 10 === 0 ? 50301 : undefined)))

  await setTopicConfig(store, { ...settings, 'message.timestamp.after.max.ms': '3600000' })
  const refused = await Promise.all(idsFrom(100, 5).map((id) => createPlant(ahead.url, id, `plant ${id}`)))
  expect(refused.map(({ response }) => errorOf(response))).toEqual(Array(5).fill(50301))
  expect(readFileSync(ahead.logFile, 'utf8')).toMatch(/Kafka does not accept the time of a record: correct the clock/)
  expect((await createPlant(right.url, 100n, 'Monstera')).response?.status).toBe(200)

  const transaction = await (await openTransactional(store.kafka)).transaction()
  await transaction.send({ topic: store.topic, messages: [{ partition: 0, key: 'foreign', value: 'x' }] })
  const during = await Promise.all(idsFrom(200, 30).map((id) => createPlant(right.url, id, `plant ${id}`)))
  const held = during.filter(({ id }) => partitionOf(Buffer.from(String(id)), store.partitions) === 0)
  const others = during.filter((create) => !held.includes(create))
  expect(new Set(others.map(({ response }) => response?.status))).toEqual(new Set([200]))
  expect(new Set(held.map(({ response }) => errorOf(response)))).toEqual(new Set([50302]))
  await transaction.commit()
  const [first] = held as [Create, ...Create[]]
  await eventually(async () => expect((await readPlant(right.url, first.id))?.status).toBe(200))
})

it('services start while a partition of the read model cannot be read, and only its requests fail', async () => {
  const { store, api: former, projector: formerProjector } = await startPlantStore()
  const inFirst = ({ id }: Create) => partitionOf(Buffer.from(String(id)), store.partitions) === 0
  const createEach = (url: string, ids: bigint[], name: string) =>
    Promise.all(ids.map((id) => createPlant(url, id, name)))
  const before = await createEach(former.url, idsFrom(0, 30), 'before')
  const redis = openRedis()
  const pointer = pointerOf(store.topic, 0 as Partition)
  const live = await eventually(async () => (await redis.get(pointer)) ?? expect.unreachable())
  await formerProjector.stop({ graceMs: 10_000 })
  await redis.multi().del(pointer).lpush(pointer, 'no pointer').exec()

  const [api, projector] = await Promise.all([
    store.startApi({ CREATE_DEADLINE_MS: '1000' }),
    store.startProjector({}, 'listening'),
  ])
  await untilNotices(api, /^partition 0: reading the checkpoints: .*WRONGTYPE/)
  await untilNotReady(projector, /^partition 0: checkpoint not loaded: .*WRONGTYPE/m)
  const during = await createEach(api.url, idsFrom(0, 60), 'during')
  expect(during.map(({ response }) => errorOf(response))).toEqual(
    during.map((create) => (inFirst(create) ? 50301 : create.id < before.length ? 40003 : undefined)),
  )

  await redis.set(pointer, live)
  await untilReady(api, projector)
  const after = await createEach(api.url, idsFrom(0, 60), 'after')
  expect(after.map(({ response }) => errorOf(response))).toEqual(
    after.map((create) => (inFirst(create) && create.id >= before.length ? undefined : 40003)),
  )
  await expectTruth(store, [...before, ...during, ...after])
})
