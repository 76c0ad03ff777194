import { type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import { expect, it, vi } from 'vitest'
import { createPlant, errorOf, idsFrom, onConnections, readPlant } from './support/client.ts'
import {
  appendCompressed,
  appendUndecodable,
  compressedEvents,
  compressedRecords,
  keepCompression,
} from './support/compressed-records.ts'
import { consumeInto } from './support/consumed-plants.ts'
import { createPlantStore } from './support/plant-store.ts'
import { untilNotice, untilNotReady, untilReady } from './support/readiness.ts'

const OUTCOME_UNKNOWN = 50302

it('batches of each codec and encoder are read by each program and by the library', async () => {
  const store = await createPlantStore()
  await keepCompression(store)
  const partition = 0 as Partition
  for (const batch of compressedRecords) await appendCompressed(store.topic, partition, batch)
  // Of the records in each batch, those with a key of this partition claim an id; the first batch creates the plants.
  const ids = compressedEvents
    .filter(({ key }) => partitionOf(key, store.partitions) === partition)
    .map(({ key }) => BigInt(key.toString()))
  const consumer = await consumeInto(store.topic)
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector()])
  await Promise.all([untilReady(api), untilReady(projector)])
  const found = await onConnections(4, ids, async (id) => (await readPlant(api.url, id))?.status)
  expect(found).toEqual(ids.map(() => 200))
  await vi.waitFor(() => expect(consumer.events.map(({ id }) => id)).toEqual(ids), 30_000)
  for (const [command, lines] of [
    [['verify'], `no difference: ${ids.length} plants`],
    [['export'], `"id":"${ids.at(-1)}"`],
    [['events', '--partition', '0', '--json'], `"offset":${compressedRecords.length * compressedEvents.length - 1},`],
    [['rebuild'], ''],
  ] as const)
    expect(await store.plantctl(...command)).toMatchObject({ code: 0, stdout: expect.stringContaining(lines) })
})

it('a batch that cannot be decoded stops only its partition, and each program names it', async () => {
  const store = await createPlantStore()
  await keepCompression(store)
  const [api, projector] = await Promise.all([store.startApi(), store.startProjector()])
  const partitionOfId = (id: bigint) => partitionOf(Buffer.from(String(id)), store.partitions)
  const damaged = 2 as Partition
  await onConnections(4, idsFrom(0, 30), (id) => createPlant(api.url, id, `plant ${id}`))
  await appendUndecodable(store.topic, damaged)
  const reason = /^partition 2 cannot be read from offset \d+ on: .* Make another replica the leader, or restore/
  await Promise.all([untilNotice(api, reason), untilNotReady(projector, reason)])
  await untilReady(api)
  const second = await store.startApi()
  await untilNotice(second, reason)
  const created = await onConnections(4, idsFrom(1_000, 30), (id) => createPlant(second.url, id, `plant ${id}`))
  for (const { id, response } of created) {
    if (partitionOfId(id) === damaged) expect(errorOf(response)).toBe(OUTCOME_UNKNOWN)
    else expect(response?.status).toBe(200)
  }
  const others = created.filter(({ id }) => partitionOfId(id) !== damaged)
  expect(others.length).toBeLessThan(created.length)
  for (const { id } of others) expect((await readPlant(second.url, id))?.status).toBe(200)

  // A projector commits what it waits for.
  await vi.waitFor(async () => {
    const problem = /^1 problem.*\n! partition 2 cannot be read from offset \d+ on: the batch there is damaged/
    expect(await store.plantctl('status')).toMatchObject({ code: 3, stdout: expect.stringMatching(problem) })
  }, 30_000)
  for (const command of ['export', 'rebuild', 'events']) {
    const { code, stderr } = await store.plantctl(command)
    expect([command, code, stderr.trimEnd().split('\n').at(-1)]).toEqual([command, 1, expect.stringMatching(reason)])
  }
  expect(await store.plantctl('events', '--partition', '1')).toMatchObject({ code: 0 })
  // It compares up to the checkpoint of the read model, which is before the batch.
  expect(await store.plantctl('verify')).toMatchObject({ code: 0 })
})
