import type { FollowOptions } from '@plant-store/shared/event-log/follow.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type Claim, recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { emptyPartition, fold, type PartitionState } from '@plant-store/shared/protocol/first-wins.ts'
import { expect } from 'vitest'
import { type Create, errorOf } from './client.ts'
import { eventually } from './eventually.ts'
import type { PlantStore } from './plant-store.ts'
import { replayed } from './raw-records.ts'
import type { TestTopic } from './topic.ts'

const DUPLICATE_ID = 40003

export type Truth = { records: number; states: PartitionState[]; winner(id: bigint): Claim | undefined }

/** Reads the whole log and folds it, as a release with this `read` does. */
export async function readTruth(
  store: TestTopic,
  read: FollowOptions['read'] = recordReader(store.partitions),
): Promise<Truth> {
  const { byPartition, found, reached } = await replayed(store, read)
  const states = byPartition.map((records, partition) => ({
    ...fold(emptyPartition(), records),
    // Behind its last record a partition may have one that only ends a transaction.
    checkpoint: reached[partition] as Checkpoint,
  }))
  return {
    records: found.length,
    states,
    winner: (id) => states.map(({ plants }) => plants.get(id as PlantId)).find((claim) => claim !== undefined),
  }
}

/** Nothing is lost or doubled: each response is true, and Redis is the fold of the log. */
export async function expectTruth(store: PlantStore, creates: readonly Create[]): Promise<void> {
  const truth = await readTruth(store)
  expectResponsesToBeTrue(creates, truth)
  await expectReadModelToEqual(truth, store)
}

/** Waits until the read model has applied the whole log, and compares it with the fold, entry by entry. */
export async function expectReadModelToEqual({ states }: Truth, store: PlantStore): Promise<void> {
  for (const partition of allPartitions(store.partitions)) {
    const { checkpoint, plants, voids, parked } = states[partition] as PartitionState
    await eventually(async () => expect(await store.readModel.meta(partition)).toMatchObject({ checkpoint }))
    expect(await store.readModel.meta(partition)).toMatchObject({
      plants: plants.size,
      voids,
      parked: parked.size,
    })
    expect(await entriesOf(store, partition, [...plants.keys()])).toEqual([...plants.values()])
  }
}

async function entriesOf({ readModel }: PlantStore, partition: Partition, ids: PlantId[]) {
  const [found] = await readModel.lookUp([{ partition, ids }])
  return found?.entries
}

/** The log must confirm each response to a create. Each create of a run has a different name. */
export function expectResponsesToBeTrue(creates: readonly Create[], truth: Truth): void {
  const wrong = creates.filter(({ id, name, response }) => {
    const winner = truth.winner(id)?.plant?.name
    if (response?.status === 200) return winner !== name
    if (errorOf(response) === DUPLICATE_ID) return winner === undefined || winner === name
    return response !== undefined && response.status !== 503
  })
  expect(wrong).toEqual([])
}
