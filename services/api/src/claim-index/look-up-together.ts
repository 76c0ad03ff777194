import type { EntryError } from '@plant-store/shared/plant/entry.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'

/** The entry of an id, and the read model's checkpoint at that moment. */
export type Found = { entry: Claim | EntryError | undefined; checkpoint: Offset }

/** `found` or `failed` is called once. */
export type LookUp = { partition: Partition; id: PlantId; found(found: Found): void; failed(error: unknown): void }

export type EachLookUp = Pick<ReadModel, 'lookUpEach'>

/** Looks up ids in one round trip. Each partition is read at one moment; one that cannot be read affects no other. */
export async function lookUpTogether(readModel: EachLookUp, lookUps: readonly LookUp[]): Promise<void> {
  const groups = [...Map.groupBy(lookUps, ({ partition }) => partition)]
  const replies = readModel.lookUpEach(
    groups.map(([partition, group]) => ({ partition, ids: group.map(({ id }) => id) })),
  )
  const answered = replies.map((reply, n) => {
    const [, group] = groups[n] as (typeof groups)[number]
    return reply.then(
      ({ checkpoint, entries }) => {
        for (const [at, { found }] of group.entries()) found({ entry: entries[at], checkpoint })
      },
      (error: unknown) => {
        for (const { failed } of group) failed(error)
      },
    )
  })
  await Promise.all(answered)
}
