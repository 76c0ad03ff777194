import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import {
  allPartitions,
  BEFORE_FIRST,
  type Offset,
  type Partition,
} from '@plant-store/shared/plant/position.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'

const PLANTS_AT_ONCE = 1_000

/**
 * Tells the plants that the read model serves, in the order of the log, each partition as it is when its turn comes;
 * resolves with the offsets before which they end. Rejects when the read model falls back meanwhile, and for what is no entry.
 */
export async function readPlantsOfReadModel(
  { list }: Pick<ReadModel, 'list'>,
  partitions: number,
  onPlants: (partition: Partition, claims: Claim[]) => Promise<void>,
): Promise<Offset[]> {
  const ends: Offset[] = []
  for (const partition of allPartitions(partitions)) {
    let reached = BEFORE_FIRST
    let plants = 0
    for (let from = 0; from === 0 || from < plants; from += PLANTS_AT_ONCE) {
      const count = from === 0 ? PLANTS_AT_ONCE : Math.min(PLANTS_AT_ONCE, plants - from)
      const [span] = await list([{ partition, from, count }])
      if (span === undefined) throw new Error('the read model did not answer')
      if (from === 0) {
        reached = span.checkpoint
        plants = span.plants
      }
      if (span.checkpoint < reached) {
        throw new Error(`partition ${partition} of the read model fell back while it was read: try again`)
      }
      await onPlants(partition, span.claims)
    }
    ends.push((reached + 1) as Offset)
  }
  return ends
}
