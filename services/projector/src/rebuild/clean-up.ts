import type { Partition } from '@plant-store/shared/plant/offset.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'

export type Leftover = { partition: Partition; generation: string }

/**
 * Drops each generation of these partitions that is neither live nor being filled: old ones, those that a rebuild
 * left and none took up, and those that a failover brought back. Tells which.
 */
export async function cleanUp(
  generations: Pick<Generations, 'list' | 'drop'>,
  partitions: readonly Partition[],
): Promise<Leftover[]> {
  const dropped: Leftover[] = []
  for (const { partition, live, filling, names } of (await generations.list()).partitions) {
    if (!partitions.includes(partition)) continue
    for (const generation of names) {
      if (generation === live || generation === filling) continue
      // Refused if that has changed since it was listed.
      const answer = await generations.drop(partition, generation)
      if (answer.is === 'dropped') dropped.push({ partition, generation })
    }
  }
  return dropped
}
