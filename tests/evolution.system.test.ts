import { type NewRecord, PARKED, plantCreated, recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import type { PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import { expect, it } from 'vitest'
import { rebuildStore } from '../plantctl/src/rebuild/open-rebuild.ts'
import { createPlant, errorOf, readPlant } from './support/client.ts'
import { newPlant } from './support/generated-plants.ts'
import { newEventId } from './support/new-events.ts'
import { createPlantStore, openRedis, type PlantStore } from './support/plant-store.ts'
import { quietLog } from './support/quiet-log.ts'
import { asStored, readStoredPartition } from './support/stored-partition.ts'
import { appendTo } from './support/topic.ts'
import { expectReadModelToEqual, readTruth } from './support/truth.ts'
import { plantCreatedVersion2, WITH_VERSION_2 } from './support/version-2.ts'

// The release under test plays the older one, in separate processes. The newer one is the same code, but knows one
// version more.

const DUPLICATE_ID = 40003
const UNREADABLE_PLANT = 50001
const STOP_GRACE_MS = 10_000
const newerReader = ({ partitions }: PlantStore) => recordReader(partitions, WITH_VERSION_2)

/** The versions in which ids claim, of every four ids each of these. */
const CLAIMED = [[1], [2], [1, 2], [2, 1]] as const

/** The claims of ids 0 to 199, and one event of each version twice. */
function claims(partitions: number): NewRecord[] {
  const create = { 1: plantCreated, 2: plantCreatedVersion2 }
  const events = Array.from({ length: 200 }, (_, id) =>
    (CLAIMED[id % 4] ?? []).map((version) =>
      create[version]({ ...newPlant(BigInt(id)), tag: `version ${version}` }, newEventId(), partitions),
    ),
  ).flat()
  return [...events, ...events.slice(0, 2)]
}

it('ids of a version that a release does not know stay claimed; a rebuild by one that knows it adds their plants', async () => {
  const store = await createPlantStore()
  await appendTo(store, claims(store.partitions))
  const [{ url }, projector] = await Promise.all([store.startApi(), store.startProjector()])

  // The older release: who has an id is decided, what is in version 2 can't be read.
  const older = await readTruth(store)
  await expectReadModelToEqual(older, store)
  expect(reasonsOf(older.states)).toEqual([PARKED.unknownVersion])
  expect(older.winner(1n)?.plant).toBeUndefined()
  expect(errorOf((await createPlant(url, 1n, 'too late')).response)).toBe(DUPLICATE_ID)
  expect(errorOf(await readPlant(url, 1n))).toBe(UNREADABLE_PLANT)
  await projector.stop({ graceMs: STOP_GRACE_MS })

  await rebuildAsNewer(store)

  const newer = await readTruth(store, newerReader(store))
  expect(newer.states.map(ownersOf)).toEqual(older.states.map(ownersOf))
  expect(reasonsOf(newer.states)).toEqual([])
  const redis = openRedis()
  const stored = allPartitions(store.partitions).map((p) => readStoredPartition(redis, store.topic, p))
  expect(await Promise.all(stored)).toEqual(
    newer.states.map((state) => asStored(state, state.checkpoint, store.partitions)),
  )
  // Written in version 2, read by an api that knows version 1 only: the read model holds what a plant is now.
  expect((await readPlant(url, 1n))?.body).toMatchObject({ name: 'plant 1', tag: 'version 2' })
  expect((await readPlant(url, 2n))?.body).toMatchObject({ name: 'plant 2', tag: 'version 1' })
  expect((await readPlant(url, 3n))?.body).toMatchObject({ name: 'plant 3', tag: 'version 2' })
})

async function rebuildAsNewer(store: PlantStore): Promise<void> {
  const { kafka, topic, partitions, readModel } = store
  const { generations } = readModel
  const source = { kafka, topic, partitions, generations, log: quietLog, read: newerReader(store) }
  const signal = new AbortController().signal
  const run = { partitions: allPartitions(partitions), fromEmpty: false, signal, onProgress() {} }
  expect((await rebuildStore(source, run)).map(({ is }) => is)).toEqual(run.partitions.map(() => 'switched'))
}

/** Which claim each id has. */
function ownersOf({ plants }: PartitionState) {
  return new Map([...plants].map(([id, { offset, eventId: event }]) => [id, { offset, event }]))
}

function reasonsOf(states: readonly PartitionState[]): number[] {
  return [...new Set(states.flatMap(({ parked }) => [...parked.values()]))]
}
