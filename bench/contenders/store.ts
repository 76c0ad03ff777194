import { FIRST, type Partition } from '@plant-store/shared/plant/position.ts'
import type { PlantCreation } from '../../services/api/src/create-plant/create-plant.ts'

/** A create resolves when the plant is stored as the contender promises. An error becomes a response 500 and fails the run. */
export type OpenStore = (settings: Readonly<Record<string, string>>) => Promise<Pick<PlantCreation, 'create'>>

/** Connections of the app to PostgreSQL. */
export const POOL_SIZE = 20
/** The position in a response of a store that has no positions. */
export const NO_POSITION = { partition: 0 as Partition, offset: FIRST }
