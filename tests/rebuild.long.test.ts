import { expect, it, onTestFinished, vi } from 'vitest'
import { createPlantStore, openRedis } from './support/plant-store.ts'
import { startPlantctl } from './support/plantctl.ts'
import { contentOf, expectNothingLeft, expectRun, fill, run } from './support/rebuilt-store.ts'
import { startSteadyLoad } from './support/steady-load.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'

const WAIT_MS = 60_000

it('rebuilds that are killed leave the served plants unchanged, and the next one completes', async () => {
  const store = await createPlantStore()
  await fill(store, 10_000)
  const [api] = await Promise.all([store.startApi(), store.startProjector()])
  await expectReadModelToEqual(await readTruth(store), store)
  const before = await contentOf(store)
  const load = startSteadyLoad([api.url])
  onTestFinished(load.stop)
  let killed = 0
  for (let round = 0; round < 6; round++) {
    const rebuild = startPlantctl(['rebuild'], store.environment)
    const keys = () => openRedis(store.environment.REDIS_URL).keys(`{${store.topic}:*}:filling`)
    if (round % 2 === 0) {
      // In the middle of its work: as soon as it fills.
      await vi.waitFor(async () => expect(await keys()).not.toEqual([]), { timeout: WAIT_MS, interval: 5 })
    } else {
      const creates = load.done.creates + Math.floor(Math.random() * 800)
      await vi.waitFor(() => expect(load.done.creates).toBeGreaterThan(creates), {
        timeout: WAIT_MS,
        interval: 5,
      })
    }
    rebuild.kill('SIGKILL')
    if ((await rebuild.ended).code === null) killed++
    expect((await run(store, 'status', '--json')).code).not.toBe(1)
  }
  await expectRun(store, 'rebuild')
  await load.stop()

  expect(killed).toBeGreaterThan(2)
  expect(load.wrong).toEqual([])
  await expectReadModelToEqual(await readTruth(store), store)
  await expectRun(store, 'verify')
  await expectNothingLeft(store)
  // The plants from before the first rebuild are still there, in the same order.
  for (const [partition, { plants, order }] of (await contentOf(store)).entries()) {
    const earlier = before[partition]
    expect(order.slice(0, earlier?.order.length)).toEqual(earlier?.order)
    for (const [id, claim] of earlier?.plants ?? []) expect(plants.get(id)).toEqual(claim)
  }
})
