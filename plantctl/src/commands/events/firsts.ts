import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { after, type Offset } from '@plant-store/shared/plant/position.ts'

export type First = { offset: Offset; eventId: EventId }

/** So many claims are remembered at once; about 150 bytes each. */
const CLAIMS_MAX = 500_000

/**
 * The first claim of each id in one partition from an offset on, as far as it was read. Bounded: when it is full it
 * drops its oldest, and begins later.
 */
export function createFirsts(start: Offset, claimsMax = CLAIMS_MAX) {
  let begins = start
  const firsts = new Map<PlantId, First>()

  return {
    /** Takes in a claim; they come in log order. What lies before where it begins is left out. */
    note({ id, offset, eventId }: Claim): void {
      if (offset < begins || firsts.has(id)) return
      firsts.set(id, { offset, eventId })
      for (const [oldest, first] of firsts) {
        if (firsts.size <= claimsMax) break
        firsts.delete(oldest)
        begins = after(first.offset)
      }
    },

    /**
     * The first claim of an id of which the read model had no entry up to a checkpoint; undefined when that can't be
     * told, for there are offsets between the two that neither knows.
     */
    firstAfter(checkpoint: Offset, id: PlantId): First | undefined {
      const first = firsts.get(id)
      return first !== undefined && first.offset > checkpoint && begins <= after(checkpoint)
        ? first
        : undefined
    },

    /** Forgets what the read model knows. */
    forgetUpTo(checkpoint: Offset): void {
      for (const [id, { offset }] of firsts) {
        if (offset > checkpoint) break
        firsts.delete(id)
      }
      if (checkpoint >= begins) begins = after(checkpoint)
    },
  }
}
