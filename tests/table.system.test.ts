import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { readEnds, TABLE } from '@plant-store/shared/event-log/topic.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { plantStored, type Row } from '@plant-store/shared/plant/plant-stored.ts'
import { offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { createPlant, onConnections } from './support/client.ts'
import { newPlant } from './support/generated-plants.ts'
import { createPlantStore, openRedis, type PlantStore } from './support/plant-store.ts'
import { startPlantctl } from './support/plantctl.ts'
import { followTable, readableIn, WITH_TABLE } from './support/plants-table.ts'
import { readRawRecords } from './support/raw-records.ts'
import { expectHalt, untilNotReady, untilReady } from './support/readiness.ts'
import { createTableTopic, setTopicConfig, type TestTopic, tableTopicOf } from './support/topic.ts'
import { expectReadModelToEqual, readTruth, type Truth } from './support/truth.ts'

const stores = { kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') }
const WAIT = { timeout: 60_000, interval: 50 }
const idsFrom = (from: number, count: number) => Array.from({ length: count }, (_, n) => BigInt(from + n))

async function createStoreWithTable() {
  const store = await createPlantStore(stores)
  return { store, table: await createTableTopic(store) }
}

/** Appends events of a few ids: some void, some repeated, some unreadable, some foreign. */
async function appendMixed({ kafka, topic, partitions }: TestTopic, count: number, ids: number): Promise<void> {
  const eventOf = (id: bigint) => plantCreated(newPlant(id), randomUUID() as EventId, partitions)
  const events = Array.from({ length: count }, (_, n) => eventOf(BigInt(n % ids))).flatMap((event, n): NewRecord[] => {
    if (n % 7 === 0) return [event, event]
    if (n % 11 === 0) return [{ ...event, value: Buffer.from('{') }]
    if (n % 13 === 0) return [{ ...event, headers: {} }]
    return [event]
  })
  const appender = createAppender(kafka, topic)
  onTestFinished(appender.close)
  await appender.append(events)
}

/** Appends the row of a creation that is at this offset of another log. */
async function appendRow({ kafka, topic, partitions }: TestTopic, offset: number, of = 7n): Promise<void> {
  const { id, ...plant } = newPlant(of)
  const eventId = randomUUID() as EventId
  const { partition } = plantCreated(newPlant(id), eventId, partitions)
  const appender = createAppender(kafka, topic)
  onTestFinished(appender.close)
  await appender.append([plantStored({ id, plant, eventId, offset: offsetOf(offset) }, partition)])
}

async function expectTableVerified({ environment }: PlantStore, settings = WITH_TABLE): Promise<void> {
  const verify = () => startPlantctl(['verify', '--table'], { ...environment, ...settings }).ended
  const { code, stdout, stderr } = await verify()
  expect([code, stdout], stderr).toEqual([0, expect.stringMatching(/^no difference: /)])
}

/** A projector with these settings ends with code 78 for this reason, before or after its operations port responds. */
async function expectRefused(store: PlantStore, reason: RegExp, settings = WITH_TABLE): Promise<void> {
  const started = await store.startProjector(settings, 'listening').catch((error: Error) => error)
  if (started instanceof Error) expect(started.message).toMatch(new RegExp(`exit code 78[^]*${reason.source}`))
  else await expectHalt(started, reason)
}

it('each created plant is a row, with the plant as in the event; a duplicate is none', async () => {
  const { store, table } = await createStoreWithTable()
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector(WITH_TABLE)])
  const followed = await followTable(table)
  await onConnections(8, idsFrom(0, 200), (id) => createPlant(api.url, id, `plant ${id}`))
  await onConnections(8, idsFrom(0, 200), (id) => createPlant(api.url, id, `another ${id}`))
  const truth = await readTruth(store)
  await followed.expectToEqual(truth)
  expect(followed.plants().size).toBe(200)
  // Each line is JSON: Node would write its warnings there, too.
  expect(readFileSync(projector.logFile, 'utf8')).not.toMatch(/^[^{]/m)

  const events = new Map((await readRawRecords(store)).map((event) => [String(event.headers?.ce_id), event]))
  const rows = await readRawRecords({ ...table }, TABLE)
  expect(rows).toHaveLength(200)
  for (const { key, value, headers } of rows) {
    const event = events.get(String(headers?.ce_id))
    expect([key, value]).toEqual([event?.key, event?.value])
    const offset = truth.winner(BigInt(String(key)))?.offset
    const { partition } = plantCreated(newPlant(BigInt(String(key))), randomUUID() as EventId, store.partitions)
    expect(Object.fromEntries(Object.entries(headers ?? {}).map(([name, text]) => [name, String(text)]))).toEqual({
      ce_specversion: '1.0',
      ce_source: '/plants/table',
      ce_type: 'PlantStored',
      ce_id: String(event?.headers?.ce_id),
      ce_position: `${partition}-${offset}`,
      'content-type': 'application/json; version=1',
    })
  }
  await expectTableVerified(store)
})

it('a table that is added later gets the whole log, and goes on through a crash and an emptied Redis', async () => {
  const { store, table } = await createStoreWithTable()
  const redis = openRedis(stores.redisUrl)
  await appendMixed(store, 3_000, 2_000)
  const without = await store.startProjector()
  await untilReady(without)
  await without.stop({ graceMs: 10_000 })

  const followed = await followTable(table)
  const first = await store.startProjector(WITH_TABLE)
  await vi.waitFor(() => expect(followed.plants().size).toBeGreaterThan(0), { timeout: 60_000, interval: 1 })
  await first.stop({ graceMs: 0 })
  await redis.del(await redis.keys(`{${store.topic}:*`))
  await appendMixed(store, 1_000, 3_000)
  await store.startProjector(WITH_TABLE)
  await followed.expectToEqual(await readTruth(store))
  await expectTableVerified(store)
})

it('a projector names what its table lacks, and ends', async () => {
  const store = await createPlantStore(stores)
  await expectRefused(store, /topic \S+\.table does not exist: create it with 6 partitions, cleanup\.policy=compact/)
  const table = await createTableTopic(store)
  await setTopicConfig(table, { 'cleanup.policy': 'delete' })
  await expectRefused(store, /topic \S+\.table would lose plants .*set cleanup\.policy to compact \(it is delete\)/)
  const same = { PLANTS_TABLE: store.topic }
  await expectRefused(store, /PLANTS_TABLE must not be the topic of the log/, same)
})

it('a projector does not continue the table of another log, and projects all the same', async () => {
  const { store, table } = await createStoreWithTable()
  await appendMixed(store, 30, 30)
  await appendRow(table, 0)
  const projector = await store.startProjector(WITH_TABLE, 'listening')
  await untilNotReady(
    projector,
    /the table was written from another log: offset 0 of partition \d+ does not hold event .* Stop the projectors, delete/,
  )
  await expectReadModelToEqual(await readTruth(store), store)
  await appendRow(table, 1_000)
  await projector.stop({ graceMs: 10_000 })
  const longer = await store.startProjector(WITH_TABLE, 'listening')
  await untilNotReady(longer, /this is not the log that the table was written from. Stop the projectors, delete/)
})

it('verify --table finds each kind of difference', async () => {
  const { store, table } = await createStoreWithTable()
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector(WITH_TABLE)])
  const followed = await followTable(table)
  await onConnections(8, idsFrom(0, 100), (id) => createPlant(api.url, id, `plant ${id}`))
  await followed.expectToEqual(await readTruth(store))
  await projector.stop({ graceMs: 10_000 })
  const appender = createAppender(table.kafka, table.topic)
  onTestFinished(appender.close)
  const [row] = (await readRawRecords(table, TABLE)).filter(({ key }) => String(key) === '7')
  const { partition } = plantCreated(newPlant(7n), randomUUID() as EventId, table.partitions)
  const headers = row?.headers as Record<string, Buffer>
  await appender.append([
    { partition, key: Buffer.from('7'), value: Buffer.from('{"id":"7","name":"Weed"}'), headers },
    { partition, key: Buffer.from('7'), value: Buffer.from('no plant'), headers },
    {
      partition,
      key: Buffer.from('7'),
      value: Buffer.from('{"id":"7","name":"plant 7"}'),
      headers: { ...headers, ce_position: Buffer.from(`${partition}-999`) },
    },
  ])
  const foreign = plantCreated(newPlant(777n), randomUUID() as EventId, table.partitions)
  await appendRow(table, 50, 777n)
  const { code, stdout } = await startPlantctl(['verify', '--table'], { ...store.environment, ...WITH_TABLE }).ended
  expect(code).toBe(3)
  expect(stdout).toMatch(new RegExp(`partition ${foreign.partition} of the table: plant 777 is not in the log`))
  expect(stdout).toMatch(/partition \d+ of the table: plant 7 has another name: expected "plant 7", found "Weed"/)
  expect(stdout).toMatch(/partition \d+ of the table: the record at offset \d+ is no row/)
  expect(stdout).toMatch(/partition \d+ of the table: plant 7 has another offset: expected "\d+", found "999"/)
})

it('verify --table names rows that are missing, and a table that nobody writes', async () => {
  const { store, table } = await createStoreWithTable()
  await appendMixed(store, 100, 100)
  const projector = await store.startProjector()
  await expectReadModelToEqual(await readTruth(store), store)
  await projector.stop({ graceMs: 10_000 })
  const verify = () => startPlantctl(['verify', '--table'], { ...store.environment, ...WITH_TABLE }).ended
  expect(await verify()).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(
      /partition 0 of the table: \d+ plants of the log not in the table: is a projector running/,
    ),
  })
  // The row of the last creation alone: those before it are missing.
  const truth = await readTruth(store)
  const [last] = readableIn(truth.states[0] as Truth['states'][number]).toSorted((a, b) => b.offset - a.offset)
  const appender = createAppender(table.kafka, table.topic)
  onTestFinished(appender.close)
  await appender.append([plantStored(last as Row, 0 as Partition)])
  expect(await verify()).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/partition 0 of the table: plant \d+ is missing: the log has /),
  })
})

it('table rebuild writes the table into another topic while the store runs, and continues after a kill', async () => {
  const { store, table } = await createStoreWithTable()
  await appendMixed(store, 10_000, 8_000)
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector(WITH_TABLE)])
  await (await followTable(table)).expectToEqual(await readTruth(store))
  const rebuild = (topic: string) =>
    startPlantctl(['table', 'rebuild', '--into', topic], { ...store.environment, ...WITH_TABLE })

  const another = { ...store, topic: `${store.topic}.table.2` }
  const killed = rebuild(another.topic)
  await vi.waitFor(
    async () =>
      expect((await readEnds(another.kafka, another.topic)).ends).satisfy((ends: number[]) =>
        ends.some((end) => end > 0),
      ),
    { timeout: 60_000, interval: 1 },
  )
  killed.kill('SIGKILL')
  await killed.ended
  const [{ code, stdout, stderr }] = await Promise.all([
    rebuild(another.topic).ended,
    onConnections(4, idsFrom(20_000, 100), (id) => createPlant(api.url, id, `plant ${id}`)),
  ])
  expect([code, stdout], stderr).toEqual([0, expect.stringMatching(/^Wrote [\d,]+ rows into \S+\.table\.2 in /)])
  expect(stderr).toMatch(/Next: restart the projectors with PLANTS_TABLE=\S+\.table\.2/)

  const moved = { PLANTS_TABLE: another.topic }
  await projector.stop({ graceMs: 10_000 })
  await store.startProjector(moved)
  await (await followTable(another)).expectToEqual(await readTruth(store))
  await expectTableVerified(store, moved)

  expect(await rebuild(tableTopicOf(store)).ended).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/the store uses this topic/),
  })
  const foreign = await createTableTopic({ ...store, topic: `${store.topic}.foreign` })
  await appendMixed(foreign, 10, 10)
  expect(await rebuild(foreign.topic).ended).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/has records that are not of a table: name a new topic/),
  })
  const other = await createTableTopic({ ...store, topic: `${store.topic}.other` })
  await appendRow(other, 0)
  expect(await rebuild(other.topic).ended).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/the table was written from another log/),
  })
})

it('a Kafka that refuses the table holds up nothing else, and the projector tells', async () => {
  const { store, table } = await createStoreWithTable()
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector(WITH_TABLE)])
  await setTopicConfig(table, { 'cleanup.policy': 'compact', 'max.message.bytes': '10' })
  const created = await onConnections(8, idsFrom(0, 50), (id) => createPlant(api.url, id, `plant ${id}`))
  expect(created.map(({ response }) => response?.status)).toEqual(created.map(() => 200))
  await untilNotReady(projector, /the table is not written: /)
  await expectReadModelToEqual(await readTruth(store), store)
  await setTopicConfig(table, { 'cleanup.policy': 'compact' })
  await untilReady(projector)
  await (await followTable(table)).expectToEqual(await readTruth(store))
})

it('a table that is deleted holds up nothing else, and is written anew when it is created again', async () => {
  const { store, table } = await createStoreWithTable()
  await appendMixed(store, 100, 100)
  const projector = await store.startProjector(WITH_TABLE)
  await (await followTable(table)).expectToEqual(await readTruth(store))
  await withAdmin(store.kafka, (admin) => admin.deleteTopics({ topics: [table.topic] }))
  await appendMixed(store, 200, 200)
  await untilNotReady(projector, /the table/)
  await expectReadModelToEqual(await readTruth(store), store)

  await projector.stop({ graceMs: 10_000 })
  await createTableTopic(store)
  await store.startProjector(WITH_TABLE)
  await (await followTable(table)).expectToEqual(await readTruth(store))
})

it('an entry that cannot be read delays the rows of its partition alone, and the projector names it', async () => {
  const { store, table } = await createStoreWithTable()
  const redis = openRedis(stores.redisUrl)
  await appendMixed(store, 60, 60)
  const without = await store.startProjector()
  await untilReady(without)
  await expectReadModelToEqual(await readTruth(store), store)
  await without.stop({ graceMs: 10_000 })
  const { partition: broken } = plantCreated(newPlant(5n), randomUUID() as EventId, store.partitions)
  const [plants] = await redis.keys(`{${store.topic}:${broken}}:*:plants`)
  await redis.hset(String(plants), '5', 'no entry')

  const projector = await store.startProjector(WITH_TABLE, 'listening')
  await untilNotReady(projector, /the table is not written in partition \d+: .*: run plantctl rebuild/)
  const followed = await followTable(table)
  const truth = await readTruth(store)
  const elsewhere = truth.states.filter((_, partition) => partition !== broken).flatMap(readableIn)
  await vi.waitFor(() => expect(elsewhere.every(({ id }) => followed.plants().has(id))).toBe(true), WAIT)
  expect(readableIn(truth.states[broken] as Truth['states'][number]).every(({ id }) => followed.plants().has(id))).toBe(
    false,
  )
})
