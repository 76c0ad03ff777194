import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { after, allPartitions, BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'

const PLANTS_AT_ONCE = 1_000

/**
 * Reads the plants that the read model serves, in log order, each partition up to the checkpoint it has at its first
 * read; resolves with the offsets before which they end. Rejects when the read model falls back, and for invalid
 * entries.
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
      if (span === undefined) throw new Error('the read model returned no plants')
      if (from === 0) {
        reached = span.checkpoint
        plants = span.plants
      }
      if (span.checkpoint < reached) {
        throw new Error(`the read model of partition ${partition} fell back during the export: try again`)
      }
      await onPlants(partition, span.claims)
    }
    ends.push(after(reached))
  }
  return ends
}
