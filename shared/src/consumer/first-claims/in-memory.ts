import { BEFORE_FIRST, type Partition } from '../../plant/position.ts'
import { PlantConsumerError } from '../plant-consumer-error.ts'
import { createClaimTable, memoryOf } from './claim-table.ts'
import { firstAmong, type KnownClaims } from './first-among.ts'
import type { FirstClaims } from './first-claims.ts'

const DEFAULT_MAX_MIB = 512

/**
 * Keeps the first claims in memory: nothing to set up, but each start reads the log from its beginning, to know who was
 * first before what it delivers. A million plants take about 25 MiB. Beyond `maxMib` (512 if not told, about 20 million
 * plants) the consumer ends with an error.
 */
export function inMemory({ maxMib = DEFAULT_MAX_MIB }: { maxMib?: number } = {}): FirstClaims {
  if (!(Number.isInteger(maxMib) && maxMib > 0)) {
    throw new PlantConsumerError('invalid-options', 'inMemory: maxMib must be a whole number above 0')
  }
  return {
    async open() {
      const memory = memoryOf(maxMib, 'raise maxMib, or keep them in a file, with firstClaims: inFile(path)')
      const known = new Map<Partition, KnownClaims>()

      function knownOf(partition: Partition): KnownClaims {
        const found = known.get(partition)
        if (found !== undefined) return found
        const { offsetOf, add } = createClaimTable({ memory, eventIds: false })
        const begun: KnownClaims = { checkpoint: { offset: BEFORE_FIRST, eventId: '' }, offsetOf, add }
        known.set(partition, begun)
        return begun
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
