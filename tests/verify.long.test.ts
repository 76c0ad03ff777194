import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { mixedEvents } from './support/new-events.ts'
import { createPlantStore, openRedis } from './support/plant-store.ts'
import { failing, outputOf, printing, runPlantctl, startPlantctl } from './support/plantctl.ts'
import { appendTo } from './support/topic.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'

it('verify names a difference and its repair, as text and as JSON, and compares only the named partitions', async () => {
  const store = await createPlantStore()
  const plantctl = (...args: string[]) => runPlantctl(args, store.environment)
  await appendTo(store, mixedEvents(300, 200, store.partitions))
  await outputOf(plantctl('rebuild', '--from-empty'))
  const truth = await readTruth(store)
  await expectReadModelToEqual(truth, store)
  const plants = truth.states.reduce((sum, state) => sum + state.plants.size, 0)
  await appendTo(store, mixedEvents(20, 20, store.partitions))
  const extent = `${plants} plants in 6 partitions; left out \\d+ records after the checkpoints`
  expect(await plantctl('verify')).toMatchObject(printing(new RegExp(`^no difference: ${extent}\n$`)))

  const redis = openRedis()
  const P = 2 as Partition
  const { generation } = await store.readModel.meta(P)
  const [id = ''] = await redis.lrange(`{${store.topic}:${P}}:${generation}:order`, 0, 0)
  await redis.hdel(`{${store.topic}:${P}}:${generation}:plants`, id)
  const missing = new RegExp(`^partition 2, generation ${generation}: plant ${id} is missing: the log has {.*}\n$`)
  expect(await plantctl('verify')).toMatchObject({
    ...printing(missing, 3),
    stderr: expect.stringMatching(/^1 difference; compared (.|\n)*plantctl rebuild --partition 2\n$/m),
  })
  const unread = startPlantctl(['verify'], store.environment, { closeStdoutAfterBytes: 0 })
  expect(await unread.ended).toMatchObject(failing(/difference/, 3))
  const json = await plantctl('verify', '--json', '--partition', '2')
  expect(json.code).toBe(3)
  expect(JSON.parse(json.stdout)).toMatchObject({
    differences: [{ partition: P, generation, what: 'entryMissing', id }],
    more: 0,
    partitions: [{ partition: P, generation }],
  })
  const others = allPartitions(store.partitions).flatMap((p) => (p === P ? [] : ['--partition', String(p)]))
  expect(await plantctl('verify', ...others)).toMatchObject({ code: 0 })
})
