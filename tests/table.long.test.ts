import { expect, inject, it } from 'vitest'
import { startCreates } from './support/endless-creates.ts'
import { startOwnRedis } from './support/own-stores.ts'
import { createPlantStore, openRedis, type RunningService } from './support/plant-store.ts'
import { startPlantctl } from './support/plantctl.ts'
import { followTable, WITH_TABLE } from './support/plants-table.ts'
import { untilReady } from './support/readiness.ts'
import { createTableTopic } from './support/topic.ts'
import { expectReadModelToEqual, expectResponsesToBeTrue, readTruth } from './support/truth.ts'

const kafkaBrokers = inject('kafkaBrokers')
const KILLS = 20

it('projectors that are killed and frozen under load, a Redis that is emptied and falls back: the table has each plant and nothing else', async () => {
  const own = await startOwnRedis()
  const store = await createPlantStore({ kafkaBrokers, redisUrl: own.url })
  const table = await createTableTopic(store)
  const followed = await followTable(table)
  const [api, ...first] = await Promise.all([
    store.startApi(),
    store.startProjector(WITH_TABLE),
    store.startProjector(WITH_TABLE),
  ])
  const projectors: RunningService[] = first
  const redis = openRedis(own.url)
  const load = startCreates(api.url)
  await load.untilMore(300)
  await redis.save()

  for (let n = 0; n < KILLS; n++) {
    await load.untilMore(1 + Math.floor(Math.random() * 200))
    const [killed, survivor] = projectors.splice(0, 2) as [RunningService, RunningService]
    // The survivor is frozen beyond its session now and then, and resumes beside its successor.
    const isFrozen = n % 5 === 0
    if (isFrozen) process.kill(-survivor.pid, 'SIGSTOP')
    await killed.stop({ graceMs: 0 })
    projectors.push(survivor, await store.startProjector(WITH_TABLE, 'listening'))
    if (n % 7 === 3) await redis.flushall()
    if (n === 10) await own.crashAndStartAgain()
    if (isFrozen) {
      await load.untilMore(500)
      process.kill(-survivor.pid, 'SIGCONT')
    }
  }
  await load.untilMore(200)
  const creates = await load.stop()
  await untilReady(api, ...projectors)

  const truth = await readTruth(store)
  expectResponsesToBeTrue(creates, truth)
  await expectReadModelToEqual(truth, store)
  await followed.expectToEqual(truth)
  const verify = startPlantctl(['verify', '--table'], { ...store.environment, ...WITH_TABLE })
  const { code, stdout, stderr } = await verify.ended
  expect([code, stdout], stderr).toEqual([0, expect.stringMatching(/^no difference: /)])
})
