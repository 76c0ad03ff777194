import { expect, inject, onTestFinished, vi } from 'vitest'
import { createPlantStore } from './plant-store.ts'
import { expectNothingLeft, expectRun, fill, generationsOf } from './rebuilt-store.ts'
import { startSteadyLoad } from './steady-load.ts'
import { expectReadModelToEqual, readTruth } from './truth.ts'

const WAIT_MS = 60_000

/** Rebuilds one after another under full load cause no failed or wrong response, and serve the fold of the log. */
export async function rebuildUnderLoad(rounds: number): Promise<void> {
  const store = await createPlantStore({ kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') })
  await fill(store, 10_000)
  const [first, second] = await Promise.all([store.startApi(), store.startApi(), store.startProjector()])
  const before = await generationsOf(store)
  const load = startSteadyLoad([first.url, second.url])
  onTestFinished(load.stop)
  const during: number[] = []
  await vi.waitFor(() => expect(load.done.creates).toBeGreaterThan(500), WAIT_MS)
  for (let round = 0; round < rounds; round++) {
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
}
