import { EntryError } from '../plant/entry.ts'
import type { Claim } from '../plant/plant-created.ts'
import type { Row } from '../plant/plant-stored.ts'
import type { Partition } from '../plant/position.ts'
import { rowsOf } from '../protocol/plants-table.ts'
import type { PartitionLookUp } from '../read-model/look-up.ts'
import type { ReadModel } from '../read-model/read-model.ts'

export type PartitionClaims = { partition: Partition; claims: readonly Claim[] }

/** The rows among some claims of a partition, or why the read model does not know them. */
export type FoundRows = { partition: Partition } & ({ rows: Row[] } | { rows: undefined; why: string })

const BEHIND = 'the read model does not have all of its claims yet'

/** Asks the read model which of these claims are rows, in one round trip. */
export async function lookUpRows(
  readModel: Pick<ReadModel, 'lookUp'>,
  asked: readonly PartitionClaims[],
): Promise<FoundRows[]> {
  const lookUps = await readModel.lookUp(
    asked.map(({ partition, claims }) => ({ partition, ids: claims.map(({ id }) => id) })),
  )
  return asked.map(({ partition, claims }, index) => {
    const { checkpoint, entries } = lookUps[index] as PartitionLookUp
    const unreadable = entries.find((entry) => entry instanceof EntryError)
    if (unreadable !== undefined)
      return { partition, rows: undefined, why: `${unreadable.message}: run plantctl rebuild` }
    const rows = rowsOf(claims, { checkpoint, entries: entries as (Claim | undefined)[] })
    return rows === undefined ? { partition, rows, why: BEHIND } : { partition, rows }
  })
}
