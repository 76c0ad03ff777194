import type { Partition } from '@plant-store/shared/plant/position.ts'
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
  for (const { partition, names } of (await generations.list()).partitions) {
    if (!partitions.includes(partition)) continue
    for (const generation of names) {
      // What is live or being filled is refused: only the script knows it, at that moment.
      const answer = await generations.drop(partition, generation)
      if (answer.is === 'dropped') dropped.push({ partition, generation })
    }
  }
  return dropped
}
