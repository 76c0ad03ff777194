import type { EntryError } from '@plant-store/shared/plant/entry.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/look-up.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'

/** The entry of an id, and the read model's checkpoint at that moment. */
export type Found = { entry: Claim | EntryError | undefined; checkpoint: Offset }

/** Looks up the id of each item in one round trip. Each partition is read at one moment. */
export async function lookUpTogether<T extends { partition: Partition; id: PlantId }>(
  readModel: Pick<ReadModel, 'lookUp'>,
  items: Iterable<T>,
): Promise<(Found & { item: T })[]> {
  const groups = [...Map.groupBy(items, ({ partition }) => partition)]
  const lookUps = await readModel.lookUp(
    groups.map(([partition, group]) => ({ partition, ids: group.map(({ id }) => id) })),
  )
  return groups.flatMap(([, group], n) => {
    const { checkpoint, entries } = lookUps[n] as PartitionLookUp
    return group.map((item, at) => ({ item, entry: entries[at], checkpoint }))
  })
}
