import { randomFillSync } from 'node:crypto'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'

/** What is created in all benchmarks: a name of 18 characters and a tag of 5. */
export const NAME = 'Monstera deliciosa'
export const TAG = 'shade'

/** The body of its create. The id is a number of 64 bits, which JSON.stringify knows nothing of. */
export function bodyOf(id: bigint): string {
  return `{"id":${id},"name":"${NAME}","tag":"${TAG}"}`
}

const DRAWN_AT_A_TIME = 4_096
const BELOW_2_TO_THE_63 = (1n << 63n) - 1n

/** Random ids below 2^63, of which no two will ever be the same. */
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
