import { join } from 'node:path'
import { inFile } from '@plant-store/shared/consumer/consumer.ts'
import type { PlantCreated } from '@plant-store/shared/consumer/plant-record.ts'
import { openExactWriter } from '@plant-store/shared/event-log/exact-writer.ts'
import { createLatchedTopic } from '@plant-store/shared/event-log/latch.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { deleteTopic } from './support/backups.ts'
import { createPlant, errorOf, idsFrom, onConnections, readPlant } from './support/client.ts'
import { consumeInto, newGroup } from './support/consumed-plants.ts'
import { eventually } from './support/eventually.ts'
import { listAll, listPage } from './support/listing.ts'
import { outputOf, startPlantctl } from './support/plantctl.ts'
import { appendMixed, createStoreWithTable, expectTableVerified, WITH_TABLE } from './support/plants-table.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import type { TestTopic } from './support/topic.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'

const DUPLICATE_ID = 40003
const STOP = { graceMs: 10_000 }
const PARTITION = 0 as Partition
const PAGE = 40
const LAST = 999n

/** An aborted transaction at the end of a partition. */
async function appendGap(log: TestTopic): Promise<void> {
  const { topicId } = await checkTopic(log.kafka, log)
  const writer = await openExactWriter(log.kafka, log.topic, topicId)
  const end = await writer.takeOver(PARTITION)
  await writer.skip(PARTITION, end, (end + 3) as Offset)
  await writer.close()
}

it('to clients, the read model, the table and consumers a restored log is the one that was lost', async () => {
  const { store } = await createStoreWithTable()
  const { topic, partitions, readModel } = store
  const plantctl = (...args: string[]) => outputOf(startPlantctl(args, { ...store.environment, ...WITH_TABLE }).ended)
  const start = () => Promise.all([store.startApi(), store.startProjector(WITH_TABLE)])
  const create = (url: string, from: number) =>
    onConnections(8, idsFrom(from, 100), (id) => createPlant(url, id, `plant ${id}`))
  const metas = () => Promise.all(allPartitions(partitions).map(readModel.meta))
  const [groupId, claims, folder] = [newGroup(), join(temporaryFolder(), 'claims.sqlite'), temporaryFolder()]
  const consume = (events: PlantCreated[]) => consumeInto(topic, { groupId, firstClaims: inFile(claims) }, events)

  const [api, projector] = await start()
  await create(api.url, 0)
  const early: PlantCreated[] = []
  const late: PlantCreated[] = []
  const consumer = await consume(early)
  await eventually(() => expect(early).toHaveLength(100))
  await consumer.stop()
  await appendMixed(store, 100, 50)
  await appendGap(store)
  await create(api.url, 100)
  const { response } = await createPlant(api.url, LAST, 'the last one')
  const position = { 'plants-position': String(response?.headers['plants-position']) }
  const { page } = await listPage(api.url, { limit: PAGE }, position)
  const answersOf = async (url: string) => [
    (await readPlant(url, LAST, position))?.text,
    (await listPage(url, { limit: PAGE, cursor: page.next }, position)).text,
    await listAll([url], PAGE, position),
  ]
  const truth = await readTruth(store)
  await expectReadModelToEqual(truth, store)
  const [answers, exported] = [await answersOf(api.url), await plantctl('export')]
  await plantctl('backup', '--to', folder)
  await Promise.all([api, projector].map((service) => service.stop(STOP)))
  const before = await metas()

  await deleteTopic(store)
  await createLatchedTopic(store.kafka, store, new Map(), 0)
  await expect(store.startApi()).rejects.toThrow(/exit code 78.*is being restored and may lack records/s)
  await expect(store.startProjector()).rejects.toThrow(/exit code 78.*is being restored and may lack records/s)
  await plantctl('restore', '--from', folder)
  const [restored] = await start()
  expect(await answersOf(restored.url)).toEqual(answers)
  expect(await metas()).toEqual(before)
  expect(await plantctl('verify')).toMatch(/^no difference: /)
  await expectTableVerified(store)
  expect(await plantctl('export')).toBe(exported)

  expect(errorOf((await createPlant(restored.url, LAST, 'a second one')).response)).toBe(DUPLICATE_ID)
  await create(restored.url, 200)
  await consume(late)
  const creations = (await readTruth(store)).states.flatMap(({ plants }, partition) =>
    [...plants.values()].filter(({ plant }) => plant !== undefined).map(({ offset }) => `${partition}-${offset}`),
  )
  const consumed = () => [...early, ...late].map(({ partition, offset }) => `${partition}-${offset}`)
  await eventually(() => expect(consumed().sort()).toEqual(creations.sort()))
})
