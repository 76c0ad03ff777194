import { readEnds, TABLE } from '@plant-store/shared/event-log/topic.ts'
import { plantStored, type Row } from '@plant-store/shared/plant/plant-stored.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it, vi } from 'vitest'
import { createPlant, idsFrom, onConnections } from './support/client.ts'
import { newEvent } from './support/new-events.ts'
import { openRedis, type PlantStore } from './support/plant-store.ts'
import { failing, outputOf, printing, runPlantctl, startPlantctl } from './support/plantctl.ts'
import {
  appendMixed,
  appendRow,
  createStoreWithTable,
  expectTableVerified,
  followTable,
  readableIn,
  verifyTable,
  WITH_TABLE,
} from './support/plants-table.ts'
import { readRawRecords } from './support/raw-records.ts'
import { appendTo, createTableTopic, tableTopicOf } from './support/topic.ts'
import { readTruth, type Truth } from './support/truth.ts'

it('verify --table finds each kind of difference, and status a plant whose entry is missing', async () => {
  const { store, table } = await createStoreWithTable()
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector(WITH_TABLE)])
  const followed = await followTable(table)
  await onConnections(8, idsFrom(0, 100), (id) => createPlant(api.url, id, `plant ${id}`))
  await followed.expectToEqual(await readTruth(store))
  await projector.stop({ graceMs: 10_000 })
  await expectStatusToMiss(store)
  const [row] = (await readRawRecords(table, TABLE)).filter(({ key }) => String(key) === '7')
  const { partition } = newEvent(7n, table.partitions)
  const headers = row?.headers as Record<string, Buffer>
  await appendTo(table, [
    { partition, key: Buffer.from('7'), value: Buffer.from('{"id":"7","name":"Weed"}'), headers },
    { partition, key: Buffer.from('7'), value: Buffer.from('no plant'), headers },
    {
      partition,
      key: Buffer.from('7'),
      value: Buffer.from('{"id":"7","name":"plant 7"}'),
      headers: { ...headers, ce_position: Buffer.from(`${partition}-999`) },
    },
  ])
  const foreign = newEvent(777n, table.partitions)
  await appendRow(table, 50, 777n)
  const { code, stdout } = await verifyTable(store)
  expect(code).toBe(3)
  expect(stdout).toMatch(new RegExp(`partition ${foreign.partition} of the table: plant 777 is not in the log`))
  expect(stdout).toMatch(/partition \d+ of the table: plant 7 has another name: expected "plant 7", found "Weed"/)
  expect(stdout).toMatch(/partition \d+ of the table: the record at offset \d+ is no row/)
  expect(stdout).toMatch(/partition \d+ of the table: plant 7 has another offset: expected "\d+", found "999"/)
})

/** Without the entry of the latest plant in a partition, where the table ends. */
async function expectStatusToMiss(store: PlantStore): Promise<void> {
  const redis = openRedis()
  const { generation } = await store.readModel.meta(0 as Partition)
  const at = `{${store.topic}:0}:${generation}`
  const [id = ''] = await redis.lrange(`${at}:order`, -1, -1)
  const entry = await redis.hgetBuffer(`${at}:plants`, id)
  await redis.hdel(`${at}:plants`, id)
  const found = new RegExp(`lists plant ${id} but has no entry for it[^]*plantctl rebuild`)
  expect(await runPlantctl(['status'], { ...store.environment, ...WITH_TABLE })).toMatchObject(printing(found, 3))
  await redis.hset(`${at}:plants`, id, entry as Buffer)
}

it('verify --table names rows that are missing, and a table that nobody writes', async () => {
  const { store, table } = await createStoreWithTable()
  await appendMixed(store, 100, 100)
  await outputOf(runPlantctl(['rebuild', '--from-empty'], store.environment))
  const behind = /partition 0 of the table: \d+ plants of the log not in the table: is a projector running/
  expect(await verifyTable(store)).toMatchObject(printing(behind, 3))
  // The row of the last creation alone: those before it are missing.
  const truth = await readTruth(store)
  const [last] = readableIn(truth.states[0] as Truth['states'][number]).toSorted((a, b) => b.offset - a.offset)
  await appendTo(table, [plantStored(last as Row, 0 as Partition)])
  const missing = /partition 0 of the table: plant \d+ is missing: the log has /
  expect(await verifyTable(store)).toMatchObject(printing(missing, 3))
})

it('table rebuild writes the table into another topic while the store runs, and continues after a kill', async () => {
  const { store, table } = await createStoreWithTable()
  await appendMixed(store, 10_000, 8_000)
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector(WITH_TABLE)])
  await (await followTable(table)).expectToEqual(await readTruth(store))
  const environment = { ...store.environment, ...WITH_TABLE }
  const into = ['table', 'rebuild', '--into']
  const rebuild = (topic: string) => startPlantctl([...into, topic], environment)
  const refused = (topic: string) => runPlantctl([...into, topic], environment)

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

  expect(await refused(tableTopicOf(store))).toMatchObject(failing(/the store uses this topic/, 2))
  const foreign = await createTableTopic({ ...store, topic: `${store.topic}.foreign` })
  await appendMixed(foreign, 10, 10)
  const notRows = failing(/has records that are not of a table: name a new topic/)
  expect(await refused(foreign.topic)).toMatchObject(notRows)
  const other = await createTableTopic({ ...store, topic: `${store.topic}.other` })
  await appendRow(other, 0)
  expect(await refused(other.topic)).toMatchObject(failing(/the table was written from another log/))
})
