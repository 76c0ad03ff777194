import type { FirstClaims, OpenFirstClaims } from '@plant-store/shared/consumer/first-claims/first-claims.ts'
import { inMemory } from '@plant-store/shared/consumer/first-claims/in-memory.ts'
import { plainFirstClaims } from '../../support/plain-first-claims.ts'
import type { Random } from '../random.ts'

/** Both kinds of first claims: new at each start, and stored across the starts of one member. */
export function createClaimKinds(random: Random) {
  const kept = new Map<number, FirstClaims>()
  return {
    async open(place: number): Promise<OpenFirstClaims> {
      if (random.chance(0.1)) kept.delete(place)
      const file = kept.get(place) ?? plainFirstClaims()
      kept.set(place, file)
      return (random.pick([inMemory(), file]) as FirstClaims).open(undefined as never)
    },
  }
}
