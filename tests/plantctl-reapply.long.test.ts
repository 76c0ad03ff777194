import { randomUUID } from 'node:crypto'
import { PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { expect, it, vi } from 'vitest'
import { followLog } from './support/followed-log.ts'
import { newEvent } from './support/new-events.ts'
import { createPlantStore, type PlantStore } from './support/plant-store.ts'
import { failing, startPlantctl } from './support/plantctl.ts'
import { appendRow, expectTableVerified, rowsOf, WITH_TABLE } from './support/plants-table.ts'
import { untilReady } from './support/readiness.ts'
import { appendTo, createTableTopic } from './support/topic.ts'
import { expectReadModelToEqual, readTruth, type Truth } from './support/truth.ts'

const WAIT_MS = 30_000

/** Folds the log into the read model like a release that cannot read the records at some offsets. */
async function applyAsOlder(store: PlantStore, isUnreadable: (offset: number) => boolean): Promise<Truth> {
  const { delivered, follower, untilAtEnd } = followLog(store)
  await untilAtEnd()
  await follower.close()
  for (const { partition, records, next, from } of delivered) {
    const older = records.map((record) => {
      const { offset, claim } = record
      if (claim === undefined || !isUnreadable(offset)) return record
      return { offset, claim: { ...claim, plant: undefined }, parked: PARKED.unknownVersion }
    })
    expect(await store.readModel.apply(partition, from, next, older, randomUUID())).toEqual({ is: 'applied' })
  }
  return readTruth(store)
}

it('parked records get their rows in the table, though the command is killed and run again', async () => {
  const store = await createPlantStore()
  const table = await createTableTopic(store)
  const plant = (id: bigint) => newEvent(id, store.partitions)
  const ids = Array.from({ length: 20_000 }, (_, n) => BigInt(n))
  await appendTo(store, ids.map(plant))
  // Many more than are applied at once, and all rows of the older release come after them.
  const isUnreadable = (offset: number) => offset < 3_000
  const truth = await applyAsOlder(store, isUnreadable)
  const rows = rowsOf(truth, (offset) => !isUnreadable(offset))
  await appendTo(table, rows)

  await untilReady(await store.startProjector(WITH_TABLE))
  const run = (settings = {}) => startPlantctl(['parked', 'reapply'], { ...store.environment, ...settings })
  expect(await run().ended).toMatchObject(failing(/set PLANTS_TABLE=on if/, 2))
  const foreign = await createTableTopic({ ...store, topic: `${store.topic}.foreign` })
  await appendRow(foreign, 0)
  const another = failing(/the table was written from another log/)
  expect(await run({ PLANTS_TABLE: foreign.topic }).ended).toMatchObject(another)
  const killed = run(WITH_TABLE)
  const parked = async () => {
    const metas = await Promise.all(allPartitions(store.partitions).map(store.readModel.meta))
    return metas.reduce((sum, one) => sum + one.parked, 0)
  }
  const before = await parked()
  await vi.waitFor(async () => expect(await parked()).toBeLessThan(before), { timeout: WAIT_MS, interval: 1 })
  killed.kill('SIGKILL')
  await killed.ended
  expect(await parked()).toBeGreaterThan(0)
  expect(await run(WITH_TABLE).ended).toMatchObject({ code: 0 })
  expect(await parked()).toBe(0)

  await appendTo(store, [20_000n, 20_001n, 20_002n].map(plant))
  await expectReadModelToEqual(await readTruth(store), store)
  await expectTableVerified(store)
})
