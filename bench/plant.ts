import { randomBytes, randomFillSync, randomUUID } from 'node:crypto'
import { digestOf } from '@plant-store/shared/access/token-entry.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type EventContext, plantCreated } from '@plant-store/shared/plant/plant-created.ts'

/** The token that every contender accepts, and the setting for it. */
export const TOKEN = 'a-token-for-benchmarks'
export const TOKEN_DIGESTS = `bench:${digestOf(TOKEN).toString('hex')}`

/** The plant that all benchmarks create: a name of 18 characters and a tag of 5. */
const NAME = 'Monstera deliciosa'
const TAG = 'shade'

const PLANT = `{"name":"${NAME}","tag":"${TAG}"}`.slice(1)

/** The body of its create. The id is a number of 64 bits, which JSON.stringify cannot write. */
export const bodyOf = (id: bigint): string => `{"id":${id},${PLANT}`

/** True for the body of a response with that plant. */
export const isExpected = (body: string): boolean => body.endsWith(PLANT)

/** The event of its creation, with any int64 for an id. */
export function newEvent(partitions: number, context?: EventContext) {
  const id = randomBytes(8).readBigInt64BE() as PlantId
  return plantCreated({ id, name: NAME, tag: TAG }, randomUUID() as EventId, partitions, context)
}

const DRAWN_AT_A_TIME = 4_096
const BELOW_2_TO_THE_63 = (1n << 63n) - 1n

/** Random ids below 2^63, of which no two are ever the same. */
export function newIds(): () => PlantId {
  const drawn = new BigUint64Array(DRAWN_AT_A_TIME)
  let taken = DRAWN_AT_A_TIME
  return () => {
    if (taken === DRAWN_AT_A_TIME) {
      randomFillSync(drawn)
      taken = 0
    }
    return ((drawn[taken++] as bigint) & BELOW_2_TO_THE_63) as PlantId
  }
}
