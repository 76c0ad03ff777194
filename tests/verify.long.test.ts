import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openRedis, type PlantStore, startPlantStore } from './support/plant-store.ts'
import { startPlantctl } from './support/plantctl.ts'
import { startSteadyLoad } from './support/steady-load.ts'

const WAIT_MS = 60_000

const plantctl = (store: PlantStore, ...args: string[]) => startPlantctl(args, store.environment).ended
const creates = (load: ReturnType<typeof startSteadyLoad>, count: number) =>
  vi.waitFor(() => expect(load.done.creates).toBeGreaterThan(count), WAIT_MS)

it('finds no difference under full load and with a lagging projector, and finds a real one', async () => {
  const { store, api, projector } = await startPlantStore()
  const load = startSteadyLoad([api.url])
  onTestFinished(load.stop)
  await creates(load, 500)
  for (let round = 0; round < 3; round++) {
    const before = load.done.creates
    const { code, stdout } = await plantctl(store, 'verify')
    expect(stdout).toMatch(/^no difference: [\d,]+ plants in 6 partitions/)
    expect(code).toBe(0)
    expect(load.done.creates).toBeGreaterThan(before)
  }

  await projector.stop({ graceMs: 10_000 })
  await creates(load, load.done.creates + 300)
  const lagging = await plantctl(store, 'verify')
  expect(lagging).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^no difference: .*; left out [\d,]+ records? after the checkpoints\n$/),
  })
  await load.stop()
  expect(load.wrong).toEqual([])

  const redis = openRedis()
  const P = 2 as Partition
  const { generation } = await store.readModel.meta(P)
  const [id = ''] = await redis.lrange(`{${store.topic}:${P}}:${generation}:order`, 0, 0)
  await redis.hdel(`{${store.topic}:${P}}:${generation}:plants`, id)
  const text = await plantctl(store, 'verify')
  expect(text).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(
      new RegExp(`^partition 2, generation ${generation}: plant ${id} is missing: the log has {.*}\n$`),
    ),
    stderr: expect.stringMatching(/^1 difference; compared (.|\n)*plantctl rebuild --partition 2\n$/m),
  })
  const json = await plantctl(store, 'verify', '--json', '--partition', '2')
  expect(json.code).toBe(3)
  expect(JSON.parse(json.stdout)).toMatchObject({
    differences: [{ partition: P, generation, what: 'entryMissing', id }],
    more: 0,
    partitions: [{ partition: P, generation }],
  })
  const others = allPartitions(store.partitions).flatMap((p) => (p === P ? [] : ['--partition', String(p)]))
  expect(await plantctl(store, 'verify', ...others)).toMatchObject({ code: 0 })
})
