import type { FirstClaims, OpenFirstClaims } from '@plant-store/shared/consumer/first-claims/first-claims.ts'
import { inMemory } from '@plant-store/shared/consumer/first-claims/in-memory.ts'
import { BEFORE_FIRST } from '@plant-store/shared/plant/position.ts'
import { plainFirstClaims } from '../../support/plain-first-claims.ts'
import type { Random } from '../random.ts'
import type { World } from './world.ts'

/**
 * All kinds of first claims: new at each start, stored across the starts of one member, and read from the read model.
 */
export function createClaimKinds(world: World, random: Random) {
  const kept = new Map<number, FirstClaims>()

  const fromReadModel: OpenFirstClaims = {
    async checkpointOf(partition) {
      await world.aWhile(4)
      const checkpoint = world.projected(partition)
      return checkpoint.offset === BEFORE_FIRST ? undefined : checkpoint
    },
    async firstAmong(partition, records) {
      await world.aWhile(4)
      const { offset: reached } = world.projected(partition)
      return records.filter(({ claim }) => {
        if (claim === undefined) return false
        const first = world.firsts.get(claim.id)
        if (first === undefined || first > reached) throw new Error('the projector is behind')
        return first === claim.offset
      })
    },
    close: async () => {},
  }

  return {
    async open(place: number): Promise<OpenFirstClaims> {
      if (random.chance(0.1)) kept.delete(place)
      const file = kept.get(place) ?? plainFirstClaims()
      kept.set(place, file)
      const kind = random.pick([inMemory(), file, undefined])
      return kind === undefined ? fromReadModel : kind.open(undefined as never)
    },
  }
}
