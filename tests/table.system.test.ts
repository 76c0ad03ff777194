import { readFileSync } from 'node:fs'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { readEnds, TABLE } from '@plant-store/shared/event-log/topic.ts'
import { expect, it, vi } from 'vitest'
import { createPlant, idsFrom, onConnections } from './support/client.ts'
import { openRedis } from './support/plant-store.ts'
import { failing, printing, runPlantctl, startPlantctl } from './support/plantctl.ts'
import {
  appendMixed,
  appendRow,
  createStoreWithTable,
  expectTableToEqual,
  expectTableVerified,
  verifyTable,
  WITH_TABLE,
} from './support/plants-table.ts'
import { readRawRecords } from './support/raw-records.ts'
import { untilNotReady, untilReady } from './support/readiness.ts'
import { createTableTopic, setTopicConfig, type TestTopic, tableTopicOf } from './support/topic.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'

it('each created plant is a row; a table that is deleted holds up nothing else, and is written anew when it is there again', async () => {
  const { store, table } = await createStoreWithTable()
  const source = { EVENT_SOURCE: 'urn:plants:eu' }
  const [api, projector] = await Promise.all([
    store.startApi(source),
    store.startProjector({ ...WITH_TABLE, ...source }),
  ])
  const startedAt = Date.now()
  await onConnections(8, idsFrom(0, 200), (id) => createPlant(api.url, id, `plant ${id}`))
  await onConnections(8, idsFrom(0, 200), (id) => createPlant(api.url, id, `another ${id}`))
  await expectTableToEqual(table, await readTruth(store))
  // Each line is JSON: Node would write its warnings there, too.
  expect(readFileSync(projector.logFile, 'utf8')).not.toMatch(/^[^{]/m)

  for (const { headers } of await readRawRecords(store)) {
    expect(String(headers?.ce_source)).toBe('urn:plants:eu')
    const madeAt = Date.parse(String(headers?.ce_time))
    expect([madeAt >= startedAt, madeAt <= Date.now()]).toEqual([true, true])
  }
  const sources = (await readRawRecords(table, TABLE)).map(({ headers }) => String(headers?.ce_source))
  expect(sources).toEqual(Array(200).fill('urn:plants:eu/table'))
  await expectTableVerified(store)

  await withAdmin(store.kafka, (admin) => admin.deleteTopics({ topics: [table.topic] }))
  await appendMixed(store, 200, 400)
  await untilNotReady(projector, /the table/)
  await expectReadModelToEqual(await readTruth(store), store)
  await projector.stop({ graceMs: 10_000 })
  await createTableTopic(store)
  await store.startProjector(WITH_TABLE)
  await expectTableToEqual(table, await readTruth(store))
})

it('a projector names what its table lacks, and ends', async () => {
  const { store, table } = await createStoreWithTable()
  await setTopicConfig(table, { 'cleanup.policy': 'delete' })
  const lacks = /exit code 78.*topic \S+\.table would lose plants .*set cleanup\.policy to compact \(it is delete\)/s
  await expect(store.startProjector(WITH_TABLE)).rejects.toThrow(lacks)
})

it('a projector does not continue the table of another log, and projects all the same', async () => {
  const { store, table } = await createStoreWithTable()
  await appendMixed(store, 30, 30)
  await appendRow(table, 0)
  const projector = await store.startProjector(WITH_TABLE, 'listening')
  await untilNotReady(
    projector,
    /the table was written from another log: offset 0 of partition \d+ does not hold event .*: stop the projectors, delete/,
  )
  await expectReadModelToEqual(await readTruth(store), store)
  await appendRow(table, 1_000)
  await projector.stop({ graceMs: 10_000 })
  const longer = await store.startProjector(WITH_TABLE, 'listening')
  await untilNotReady(longer, /this is not the log that the table was written from: stop the projectors, delete/)
})

it('a table that is added later gets the whole log; table rebuild writes it into another topic while the store runs', async () => {
  const { store, table } = await createStoreWithTable()
  const redis = openRedis()
  await appendMixed(store, 6_000, 4_000)
  const without = await store.startProjector()
  await untilReady(without)
  await without.stop({ graceMs: 10_000 })

  const recordsIn = async ({ kafka, topic }: TestTopic) =>
    (await readEnds(kafka, topic)).ends.reduce((sum, end) => sum + end, 0)
  const untilWritten = (topic: TestTopic) =>
    vi.waitFor(async () => expect(await recordsIn(topic)).toBeGreaterThan(0), { timeout: 60_000, interval: 1 })
  const first = await store.startProjector(WITH_TABLE)
  await untilWritten(table)
  await first.stop({ graceMs: 0 })
  await redis.del(await redis.keys(`{${store.topic}:*`))
  await appendMixed(store, 1_000, 3_000)
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector(WITH_TABLE)])
  await expectTableToEqual(table, await readTruth(store))
  await expectTableVerified(store)

  const environment = { ...store.environment, ...WITH_TABLE }
  const into = ['table', 'rebuild', '--into']
  const rebuild = (topic: string) => startPlantctl([...into, topic], environment)
  const refused = (topic: string) => runPlantctl([...into, topic], environment)

  const another = { ...store, topic: `${store.topic}.table.2` }
  const killed = rebuild(another.topic)
  await untilWritten(another)
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
  await expectTableToEqual(another, await readTruth(store))
  await expectTableVerified(store, moved)
  await appendRow(another, 50, 99_999n)
  const extra = /^partition \d of the table: plant 99999 is not in the log/
  expect(await verifyTable(store, moved)).toMatchObject(printing(extra, 3))

  expect(await refused(tableTopicOf(store))).toMatchObject(failing(/the store uses this topic/, 2))
  const foreign = await createTableTopic({ ...store, topic: `${store.topic}.foreign` })
  await appendMixed(foreign, 10, 10)
  const notRows = failing(/has records that are not of a table: name a new topic/)
  expect(await refused(foreign.topic)).toMatchObject(notRows)
  const other = await createTableTopic({ ...store, topic: `${store.topic}.other` })
  await appendRow(other, 0)
  expect(await refused(other.topic)).toMatchObject(failing(/the table was written from another log/))
})
