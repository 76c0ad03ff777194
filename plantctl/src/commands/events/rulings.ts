import { EntryError } from '@plant-store/shared/plant/entry.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { after, BEFORE_FIRST, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { firstWins, type Ruling } from '@plant-store/shared/protocol/first-wins.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/look-up.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'

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

type FirstClaim = { offset: Offset; eventId: EventId }

/** Ids per look-up in Redis. */
const IDS_MAX = 1_000
/** First claims in memory, about 150 bytes each. */
const CLAIMS_MAX = 500_000

/** Rules on a single id from all its claims: the log alone has the first one. */
export function rulingsOfOneId(id: PlantId): Rulings {
  let first: FirstClaim | undefined
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
  claimsMax?: number,
): Rulings {
  const start = after(checkpoint)
  const firstClaims = createFirstClaims(start, claimsMax)

  async function ruleBatch(claims: readonly Claim[]): Promise<ClaimRuling[]> {
    const [found] = await readModel.lookUp([{ partition, ids: claims.map(({ id }) => id) }])
    const { checkpoint: passed, entries } = found as PartitionLookUp
    const ruled = claims.map((claim, n) => {
      const entry = entries[n]
      // An invalid entry makes only its own id unknown.
      if (entry instanceof EntryError) return { is: 'unknown' } as const
      return rulingBy(entry ?? firstClaims.firstAfter(passed, claim.id), claim)
    })
    firstClaims.forgetUpTo(passed)
    return ruled
  }

  return {
    startFor: (from) => Math.min(from, start) as Offset,
    add: firstClaims.add,
    async rule(claims) {
      const ruled: ClaimRuling[] = []
      for (let n = 0; n < claims.length; n += IDS_MAX) ruled.push(...(await ruleBatch(claims.slice(n, n + IDS_MAX))))
      return ruled
    },
  }
}

/** Without a first claim, or with one after this claim, the read model is no fold of this log. */
function rulingBy(first: FirstClaim | undefined, claim: Claim): ClaimRuling {
  if (first === undefined || first.offset > claim.offset) return { is: 'unknown' }
  const is = first.offset === claim.offset ? 'created' : firstWins(first, claim)
  return { is, first: first.offset }
}

/**
 * The first claim of each id that was read in one partition from an offset on. Its size is bounded: when it is full, it
 * drops the oldest claims and starts at a later offset.
 */
function createFirstClaims(from: Offset, claimsMax = CLAIMS_MAX) {
  let start = from
  const firstClaims = new Map<PlantId, FirstClaim>()

  return {
    /** Adds a claim, in log order. Claims before the start are ignored. */
    add({ id, offset, eventId }: Claim): void {
      if (offset < start || firstClaims.has(id)) return
      firstClaims.set(id, { offset, eventId })
      for (const [oldest, first] of firstClaims) {
        if (firstClaims.size <= claimsMax) break
        firstClaims.delete(oldest)
        start = after(first.offset)
      }
    },

    /**
     * The first claim of an id without an entry in a read model at `checkpoint`; undefined when it is not known because
     * of offsets between the checkpoint and the start.
     */
    firstAfter(checkpoint: Offset, id: PlantId): FirstClaim | undefined {
      const first = firstClaims.get(id)
      return first !== undefined && first.offset > checkpoint && start <= after(checkpoint) ? first : undefined
    },

    /** Drops the claims that the read model has passed. */
    forgetUpTo(checkpoint: Offset): void {
      for (const [id, { offset }] of firstClaims) {
        if (offset > checkpoint) break
        firstClaims.delete(id)
      }
      if (checkpoint >= start) start = after(checkpoint)
    },
  }
}
