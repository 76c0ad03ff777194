import { type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { createPlant, errorOf, idsFrom, onConnections, readPlant } from './support/client.ts'
import { appendUndecodable, keepCompression } from './support/compressed-records.ts'
import { eventually } from './support/eventually.ts'
import { createPlantStore } from './support/plant-store.ts'
import { untilNotices, untilNotReady, untilReady } from './support/readiness.ts'

const OUTCOME_UNKNOWN = 50302

it('a batch that cannot be decoded stops only its partition, and each program names it', async () => {
  const store = await createPlantStore()
  await keepCompression(store)
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector()])
  const partitionOfId = (id: bigint) => partitionOf(Buffer.from(String(id)), store.partitions)
  const damaged = 2 as Partition
  await onConnections(4, idsFrom(0, 30), (id) => createPlant(api.url, id, `plant ${id}`))
  await appendUndecodable(store.topic, damaged)
  const reason = /^partition 2 cannot be read from offset \d+ on: .* Make another replica the leader, or restore/
  await Promise.all([untilNotices(api, reason), untilNotReady(projector, reason)])
  await untilReady(api)
  const second = await store.startApi()
  await untilNotices(second, reason)
  const created = await onConnections(4, idsFrom(1_000, 30), (id) => createPlant(second.url, id, `plant ${id}`))
  for (const { id, response } of created) {
    if (partitionOfId(id) === damaged) expect(errorOf(response)).toBe(OUTCOME_UNKNOWN)
    else expect(response?.status).toBe(200)
  }
  const others = created.filter(({ id }) => partitionOfId(id) !== damaged)
  expect(others.length).toBeLessThan(created.length)
  for (const { id } of others) expect((await readPlant(second.url, id))?.status).toBe(200)

  // A projector commits what it waits for.
  await eventually(async () => {
    const problem = /^1 problem.*\n! partition 2 cannot be read from offset \d+ on: the batch there is damaged/
    expect(await store.plantctl('status')).toMatchObject({ code: 3, stdout: expect.stringMatching(problem) })
  })
  for (const command of ['export', 'rebuild', 'events']) {
    const { code, stderr } = await store.plantctl(command)
    expect([command, code, stderr.trimEnd().split('\n').at(-1)]).toEqual([command, 1, expect.stringMatching(reason)])
  }
  expect(await store.plantctl('events', '--partition', '1')).toMatchObject({ code: 0 })
  // It compares up to the checkpoint of the read model, which is before the batch.
  expect(await store.plantctl('verify')).toMatchObject({ code: 0 })
})
