import { readable } from '@plant-store/shared/plant/entry.ts'
import type { Plant, PlantId } from '@plant-store/shared/plant/plant.ts'
import { BEFORE_FIRST, type Offset, type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import type { ConsistencyToken } from '@plant-store/shared/protocol/consistency-token.ts'
import { coverageReach, firstClaimOf } from '@plant-store/shared/protocol/coverage.ts'
import type { PartitionLookUp, ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { ClaimIndex } from '../claim-index/claim-index.ts'
import { createRetries, type NotCovered, type ReadOptions } from './retry-until-covered.ts'

export type ReadPlant =
  | { is: 'plant'; plant: Plant; partition: Partition; offset: Offset }
  | { is: 'unreadablePlant' | 'noSuchPlant' }
  | NotCovered

export type PlantReader = ReturnType<typeof createPlantReader>

export function createPlantReader(readModel: Pick<ReadModel, 'lookUp'>, claimIndex: ClaimIndex, options: ReadOptions) {
  const retryUntilCovered = createRetries(readModel, claimIndex, options)

  /** Undefined when the reach is too low for a result. */
  async function tryRead(id: PlantId, token: ConsistencyToken): Promise<ReadPlant | undefined> {
    const partition = partitionOf(Buffer.from(id.toString()), claimIndex.partitions)
    // The partition of the plant stays first, also if the token has it.
    const positions = [...new Map([[partition, BEFORE_FIRST], ...token])]
    const lookUps = await readModel.lookUp(positions.map(([p]) => ({ partition: p, ids: p === partition ? [id] : [] })))
    // The windows are read now, after the read model's response.
    const reaches = ([p, offset]: (typeof positions)[number], n: number) =>
      coverageReach(claimIndex.window(p), (lookUps[n] as PartitionLookUp).checkpoint) >= offset
    if (!positions.every(reaches)) return undefined
    const [own] = lookUps as [PartitionLookUp]
    const window = claimIndex.window(partition)
    const entry = readable(own.entries[0])
    const known = firstClaimOf(id, { entry, checkpoint: own.checkpoint }, window)
    if (known.is === 'unknown') return undefined
    if (known.is === 'absent') {
      const reachesFloor = coverageReach(window, own.checkpoint) >= claimIndex.readFloor.of(partition)
      return reachesFloor ? { is: 'noSuchPlant' } : undefined
    }
    const { plant, offset } = known.first
    claimIndex.readFloor.raise(partition, offset)
    if (plant === undefined) return { is: 'unreadablePlant' }
    return { is: 'plant', plant, partition, offset }
  }

  return {
    /** Resolves within the deadline, or when the look-up in flight at the deadline has ended. */
    read: (id: PlantId, token: ConsistencyToken): Promise<ReadPlant> =>
      retryUntilCovered(token, () => tryRead(id, token)),
  }
}
