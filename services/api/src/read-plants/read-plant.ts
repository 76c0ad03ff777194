import type { Plant, PlantId } from '@plant-store/shared/plant/plant.ts'
import {
  BEFORE_FIRST,
  type ConsistencyToken,
  type Offset,
  type Partition,
  partitionOf,
} from '@plant-store/shared/plant/position.ts'
import { coverageReach, firstClaimOf } from '@plant-store/shared/protocol/coverage.ts'
import { readable } from '@plant-store/shared/read-model/entry.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/look-up.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { ClaimIndex } from '../claim-index/claim-index.ts'
import { type NotCovered, type ReadOptions, retryUntilCovered } from './retry-until-covered.ts'

export type ReadPlant =
  | { is: 'plant'; plant: Plant; partition: Partition; offset: Offset }
  | { is: 'unreadablePlant' | 'noSuchPlant' }
  | NotCovered

export type PlantReader = ReturnType<typeof createPlantReader>

/** Reads plants from the view of this instance: what the read model and the window know together. */
export function createPlantReader(
  readModel: Pick<ReadModel, 'lookUp'>,
  claimIndex: ClaimIndex,
  options: ReadOptions,
) {
  /** The answer if the view reaches far enough to give one. */
  async function tryRead(id: PlantId, positions: ConsistencyToken): Promise<ReadPlant | undefined> {
    const partition = partitionOf(Buffer.from(id.toString()), claimIndex.partitions)
    const elsewhere = [...positions.keys()].filter((other) => other !== partition)
    const [own, ...others] = (await readModel.lookUp([
      { partition, ids: [id] },
      ...elsewhere.map((other) => ({ partition: other, ids: [] })),
    ])) as [PartitionLookUp, ...PartitionLookUp[]]
    // The windows are looked at now, after the read model has answered.
    const reaches = (at: Partition, { checkpoint }: PartitionLookUp) =>
      coverageReach(claimIndex.window(at), checkpoint) >= (positions.get(at) ?? BEFORE_FIRST)
    if (!reaches(partition, own)) return undefined
    if (!elsewhere.every((at, n) => reaches(at, others[n] as PartitionLookUp))) return undefined
    const window = claimIndex.window(partition)
    const entry = readable(own.entries[0])
    const known = firstClaimOf(id, { entry, checkpoint: own.checkpoint }, window)
    if (known.is === 'unknown') return undefined
    if (known.is === 'absent') {
      const isFar = coverageReach(window, own.checkpoint) >= claimIndex.readFloor.of(partition)
      return isFar ? { is: 'noSuchPlant' } : undefined
    }
    const { plant, offset } = known.first
    claimIndex.readFloor.raise(partition, offset)
    if (plant === undefined) return { is: 'unreadablePlant' }
    return { is: 'plant', plant, partition, offset }
  }

  return {
    /** Answers within the deadline, or when the look-up that is under way then has ended: at the latest that it can't tell. */
    read: (id: PlantId, positions: ConsistencyToken): Promise<ReadPlant> =>
      retryUntilCovered(() => tryRead(id, positions), options),
  }
}
