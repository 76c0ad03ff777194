// All that others may import: the rest of this package may change with any release.
export type { Begin, ConsumeOptions } from './consume-options.ts'
export { consumePlants, type PlantConsumer } from './consume-plants.ts'
export type { FirstClaims } from './first-claims.ts'
export type { DeadLetter, HandlerContext } from './hand-over.ts'
export { PlantConsumerError, type PlantConsumerErrorCode } from './plant-consumer-error.ts'
export type { PlantCreated } from './plant-created-event.ts'
export type { ParkedRecord } from './plant-record.ts'
