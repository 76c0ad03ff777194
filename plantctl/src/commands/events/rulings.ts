import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { firstWins, type Ruling } from '@plant-store/shared/protocol/first-wins.ts'
import { EntryError } from '@plant-store/shared/read-model/entry.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/look-up.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { createFirsts, type First } from './firsts.ts'

/** What a claim came to, and where the first one of its id lies; unknown where nobody can tell. */
export type Ruled = { is: Ruling; first: Offset } | { is: 'unknown' }

/** Rules on the claims of one partition, which come in log order. */
export type Rulings = {
  /** Where the log has to be read from, so that what is shown from `from` on can be ruled on. */
  startFor(from: Offset): Offset
  /** Takes in all that is read, also what is not shown. */
  note(claim: Claim): void
  rule(claims: readonly Claim[]): Promise<Ruled[]>
}

/** One look-up in Redis. */
const IDS_MAX = 1_000

/** Rules on one id alone, from all its claims: the log itself tells who was first. */
export function rulingsOfOneId(id: PlantId): Rulings {
  let first: First | undefined
  return {
    startFor: () => 0 as Offset,
    note(claim) {
      if (claim.id === id) first ??= claim
    },
    rule: async (claims) => claims.map((claim) => rulingBy(first, claim)),
  }
}

/**
 * Rules by what the read model has, which has passed the log up to `checkpoint`; and beyond that, where it has no entry
 * yet, by the claims noted here.
 */
export function rulingsByReadModel(
  readModel: Pick<ReadModel, 'lookUp'>,
  partition: Partition,
  checkpoint: Offset = BEFORE_FIRST,
  claimsMax?: number,
): Rulings {
  const start = (checkpoint + 1) as Offset
  const firsts = createFirsts(start, claimsMax)

  async function ruleSome(claims: readonly Claim[]): Promise<Ruled[]> {
    const [found] = await readModel.lookUp([{ partition, ids: claims.map(({ id }) => id) }])
    const { checkpoint: passed, entries } = found as PartitionLookUp
    const ruled = claims.map((claim, n) => {
      const entry = entries[n]
      // Bytes that are no entry make only their own id unknown.
      if (entry instanceof EntryError) return { is: 'unknown' } as const
      return rulingBy(entry ?? firsts.firstAfter(passed, claim.id), claim)
    })
    firsts.forgetUpTo(passed)
    return ruled
  }

  return {
    startFor: (from) => Math.min(from, start) as Offset,
    note: firsts.note,
    async rule(claims) {
      const ruled: Ruled[] = []
      for (let n = 0; n < claims.length; n += IDS_MAX)
        ruled.push(...(await ruleSome(claims.slice(n, n + IDS_MAX))))
      return ruled
    },
  }
}

/** A first claim that lies behind this one, or is not there, is none: the read model is no fold of this log. */
function rulingBy(first: First | undefined, claim: Claim): Ruled {
  if (first === undefined || first.offset > claim.offset) return { is: 'unknown' }
  const is = first.offset === claim.offset ? 'created' : firstWins(first, claim)
  return { is, first: first.offset }
}
