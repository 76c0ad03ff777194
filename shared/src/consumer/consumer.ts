// All that others may import: the rest of this package may change with any release.
export type { FirstClaims } from './first-claims.ts'
export { inFile } from './in-file.ts'
export { inMemory } from './in-memory.ts'
export { PlantConsumerError, type PlantConsumerErrorCode } from './plant-consumer-error.ts'
export type { PlantCreated } from './plant-created-event.ts'
export type { ParkedRecord } from './plant-record.ts'
export { type ReplayPlantsOptions, type ReplaySummary, replayPlants } from './replay-plants.ts'
export type { ReplayProgress } from './replay-progress.ts'
