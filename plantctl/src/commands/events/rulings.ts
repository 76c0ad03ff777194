import { EntryError } from '@plant-store/shared/plant/entry.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { after, BEFORE_FIRST, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { firstClaimOf } from '@plant-store/shared/protocol/coverage.ts'
import { firstWins, type Ruling } from '@plant-store/shared/protocol/first-wins.ts'
import { createWindow } from '@plant-store/shared/protocol/window.ts'
import type { PartitionLookUp, ReadModel } from '@plant-store/shared/read-model/read-model.ts'

/** The ruling on a claim, and the offset of the first claim of its id. */
export type ClaimRuling = { is: Ruling; first: Offset } | { is: 'unknown' }

/** Rules on the claims of one partition, in log order. */
export type Rulings = {
  /** The offset to read the log from, so that claims from `from` on can be ruled on. */
  startFor(from: Offset): Offset
  /** Records a claim that was read, whether it is shown or not. */
  add(claim: Claim): void
  rule(claims: readonly Claim[]): Promise<ClaimRuling[]>
}

/** Ids per look-up in Redis. */
const IDS_MAX = 1_000
/** First claims in memory. */
const CLAIMS_MAX_BYTES = 64 * 1_048_576

/** Rules on a single id from all its claims: the log alone has the first one. */
export function rulingsOfOneId(id: PlantId): Rulings {
  let first: Claim | undefined
  return {
    startFor: () => FIRST,
    add(claim) {
      if (claim.id === id) first ??= claim
    },
    rule: async (claims) => claims.map((claim) => rulingBy(first, claim)),
  }
}

/**
 * Rules by the entries of the read model, whose checkpoint was `checkpoint` at the start. For ids without an entry it
 * uses the claims after the checkpoint that were added here.
 */
export function rulingsByReadModel(
  readModel: Pick<ReadModel, 'lookUp'>,
  partition: Partition,
  checkpoint: Offset = BEFORE_FIRST,
  maxBytes = CLAIMS_MAX_BYTES,
): Rulings {
  const start = after(checkpoint)
  const window = createWindow(start, maxBytes)

  async function ruleBatch(claims: readonly Claim[]): Promise<ClaimRuling[]> {
    const [found] = await readModel.lookUp([{ partition, ids: claims.map(({ id }) => id) }])
    const { checkpoint, entries } = found as PartitionLookUp
    // The first claim of these must have an entry: without one the read model is no fold of this log.
    window.dropBefore(after(checkpoint))
    return claims.map((claim, n) => {
      const entry = entries[n]
      // An invalid entry makes only its own id unknown.
      if (entry instanceof EntryError) return { is: 'unknown' }
      const first = firstClaimOf(claim.id, { entry, checkpoint }, window)
      return rulingBy(first.is === 'claimed' ? first.first : undefined, claim)
    })
  }

  return {
    startFor: (from) => Math.min(from, start) as Offset,
    add(claim) {
      // After an error the same claims are added again.
      if (claim.offset >= window.next) window.pass({ offset: claim.offset, claim })
    },
    async rule(claims) {
      const ruled: ClaimRuling[] = []
      for (let n = 0; n < claims.length; n += IDS_MAX) ruled.push(...(await ruleBatch(claims.slice(n, n + IDS_MAX))))
      return ruled
    },
  }
}

/** Without a first claim, or with one after this claim, the read model is no fold of this log. */
function rulingBy(first: Claim | undefined, claim: Claim): ClaimRuling {
  if (first === undefined || first.offset > claim.offset) return { is: 'unknown' }
  const is = first.offset === claim.offset ? 'created' : firstWins(first, claim)
  return { is, first: first.offset }
}
