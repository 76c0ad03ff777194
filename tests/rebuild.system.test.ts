import { expect, it, onTestFinished, vi } from 'vitest'
import { createPlantStore, openRedis } from './support/plant-store.ts'
import { contentOf, expectNothingLeft, expectRun, fill, generationsOf, run } from './support/rebuilt-store.ts'
import { startSteadyLoad } from './support/steady-load.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'

const WAIT_MS = 60_000
const PROBLEMS = 3

it('a rebuild under full load causes no failed or wrong response, and serves the fold of the log', async () => {
  const store = await createPlantStore()
  await fill(store, 10_000)
  const [first, second] = await Promise.all([store.startApi(), store.startApi(), store.startProjector()])
  const before = await generationsOf(store)
  const load = startSteadyLoad([first.url, second.url])
  onTestFinished(load.stop)
  await vi.waitFor(() => expect(load.done.creates).toBeGreaterThan(500), WAIT_MS)
  const createsBefore = load.done.creates
  await expectRun(store, 'rebuild')
  const during = load.done.creates - createsBefore
  await expectRun(store, 'verify')
  await load.stop()

  expect(load.wrong).toEqual([])
  expect(Math.min(during, load.done.lists, load.done.absences, load.done.duplicates)).toBeGreaterThan(0)
  const after = await generationsOf(store)
  expect(after.filter((generation) => before.includes(generation))).toEqual([])
  await expectReadModelToEqual(await readTruth(store), store)
  await expectRun(store, 'verify')
  await expectNothingLeft(store)
})

it('a lost Redis is filled with --from-empty without a projector, and refused without the option', async () => {
  const store = await createPlantStore()
  await fill(store, 3_000)
  const projector = await store.startProjector()
  const truth = await readTruth(store)
  await expectReadModelToEqual(truth, store)
  const before = await contentOf(store)
  await projector.stop({ graceMs: 10_000 })
  const redis = openRedis()
  await redis.del(...(await redis.keys(`{${store.topic}:*`)))

  const refused = await run(store, 'rebuild')
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toMatch(/--from-empty/)
  expect((await run(store, 'verify')).code).toBe(PROBLEMS)
  await expectRun(store, 'rebuild', '--from-empty')
  expect(await contentOf(store)).toEqual(before)
  await expectRun(store, 'verify')
})
