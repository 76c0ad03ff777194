import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { NewPlant } from '@plant-store/shared/plant/plant.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'

/** The outcome of a create, and the position for its response: a constant if the store has no positions. */
type Created = { is: 'created' | 'duplicate'; partition: Partition; offset: Offset }

export type Store = {
  /** Resolves when the plant is stored as the contender promises. An error becomes a response 500 and fails the run. */
  create(plant: NewPlant, eventId: EventId): Promise<Created>
}

export type OpenStore = (settings: Readonly<Record<string, string>>) => Promise<Store>
