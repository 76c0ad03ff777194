import type { EntryError } from '@plant-store/shared/plant/entry.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/look-up.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'

/** The entry of an id, and the read model's checkpoint at that moment. */
export type Found = { entry: Claim | EntryError | undefined; checkpoint: Offset }

export type LookUp = { partition: Partition; id: PlantId; resolve(found: Found): void }

/** Looks up ids in one round trip. Each partition is read at one moment. Resolves all of them, or rejects. */
export async function lookUpTogether(readModel: Pick<ReadModel, 'lookUp'>, lookUps: readonly LookUp[]): Promise<void> {
  const groups = [...Map.groupBy(lookUps, ({ partition }) => partition)]
  const replies = await readModel.lookUp(
    groups.map(([partition, group]) => ({ partition, ids: group.map(({ id }) => id) })),
  )
  for (const [n, [, group]] of groups.entries()) {
    const { checkpoint, entries } = replies[n] as PartitionLookUp
    for (const [at, { resolve }] of group.entries()) resolve({ entry: entries[at], checkpoint })
  }
}
