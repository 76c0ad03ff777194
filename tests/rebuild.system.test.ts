import { expect, it } from 'vitest'
import { eventually } from './support/eventually.ts'
import { newEvent } from './support/new-events.ts'
import { createPlantStore, type PlantStore } from './support/plant-store.ts'
import { outputOf } from './support/plantctl.ts'
import { DEADLINES, startSteadyLoad } from './support/steady-load.ts'
import { appendTo } from './support/topic.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'

it('a rebuild under full load causes no failed or wrong response, and serves the fold of the log', async () => {
  const store = await createPlantStore()
  await fill(store, 10_000)
  const [first, second] = await Promise.all([
    store.startApi(DEADLINES),
    store.startApi(DEADLINES),
    store.startProjector(),
  ])
  const load = startSteadyLoad([first.url, second.url], 0)
  await eventually(() => expect(load.done.creates).toBeGreaterThan(500))
  const createsBefore = load.done.creates
  await outputOf(store.plantctl('rebuild'))
  const during = load.done.creates - createsBefore
  await outputOf(store.plantctl('verify'))
  const { done } = load
  await eventually(() => expect(Math.min(done.lists, done.absences, done.duplicates)).toBeGreaterThan(0))
  await load.stop()

  expect(load.wrong).toEqual([])
  expect(during).toBeGreaterThan(0)
  await expectReadModelToEqual(await readTruth(store), store)
  await outputOf(store.plantctl('verify'))
})

/** Appends the events of `plants` plants; every tenth id is claimed twice. */
function fill(store: PlantStore, plants: number): Promise<void> {
  const ids = Array.from({ length: plants }, (_, n) => BigInt(-1_000_000 - n))
  const claimed = ids.flatMap((id) => (id % 10n === 0n ? [id, id] : [id]))
  const events = claimed.map((id) => newEvent(id, store.partitions))
  return appendTo(store, events)
}
