import type { Partition } from '../../plant/position.ts'
import { BEFORE_LOG } from '../../protocol/checkpoint.ts'
import { PlantConsumerError } from '../plant-consumer-error.ts'
import { createClaimTable, memoryOf } from './claim-table.ts'
import { type FirstClaims, firstAmong, type KnownClaims } from './first-claims.ts'

const DEFAULT_MAX_MIB = 512

/**
 * Stores the first claims in memory: nothing to set up, but each start reads the log from its beginning to know which
 * claims were first. A million plants take about 25 MiB. The consumer ends with an error when it needs more than
 * `maxMib` (default 512, for about 20 million plants).
 */
export function inMemory({ maxMib = DEFAULT_MAX_MIB }: { maxMib?: number | undefined } = {}): FirstClaims {
  if (!(Number.isInteger(maxMib) && maxMib > 0)) {
    throw new PlantConsumerError('invalid-options', 'inMemory: maxMib must be an integer greater than 0')
  }
  return {
    async open() {
      const reserve = memoryOf(maxMib, 'increase maxMib, or store them in a file with firstClaims: inFile(path)')
      const known = new Map<Partition, KnownClaims>()

      function knownOf(partition: Partition): KnownClaims {
        const table = () => createClaimTable({ reserve, eventIds: false })
        const claims = known.get(partition) ?? { checkpoint: BEFORE_LOG, ...table() }
        known.set(partition, claims)
        return claims
      }

      return {
        checkpointOf: async (partition) => knownOf(partition).checkpoint,

        async firstAmong(partition, records, next) {
          const claims = knownOf(partition)
          const first = firstAmong(claims, partition, records)
          if (next.offset > claims.checkpoint.offset) claims.checkpoint = next
          return first
        },

        close: async () => {},
      }
    },
  }
}
