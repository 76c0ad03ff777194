import type { FirstClaims } from '@plant-store/shared/consumer/first-claims/first-claims.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'

/** First claims in Maps: what any other keeper of them has to agree with. */
export function plainFirstClaims(): FirstClaims {
  const firsts = new Map<PlantId, Offset>()
  const checkpoints = new Map<Partition, Checkpoint>()
  const checkpointOf = (partition: Partition): Checkpoint => checkpoints.get(partition) ?? BEFORE_LOG
  return {
    open: async () => ({
      checkpointOf: async (partition) => checkpointOf(partition),
      async firstAmong(partition, records, next) {
        const known = checkpointOf(partition)
        const created = records.filter(({ claim }) => {
          if (claim === undefined) return false
          const first = firsts.get(claim.id)
          if (first === undefined) firsts.set(claim.id, claim.offset)
          return (first ?? claim.offset) === claim.offset
        })
        if (next.offset > known.offset) checkpoints.set(partition, next)
        return created
      },
      close: async () => {},
    }),
  }
}
