import type { PlantCreated } from './plant-created-event.ts'

/** What takes plants: one at a time, or up to `maxBatch` at once. One of the two is given. */
export type PlantsTaken<Context extends unknown[]> = {
  onPlantCreated?: ((event: PlantCreated, ...context: Context) => unknown) | undefined
  onPlantsCreated?: ((events: PlantCreated[], ...context: Context) => unknown) | undefined
  maxBatch: number
}

/** The handler that was given, as one that takes at most `maxEvents` at once. */
export function plantsHandlerOf<Context extends unknown[]>({
  onPlantCreated,
  onPlantsCreated,
  maxBatch,
}: PlantsTaken<Context>) {
  return {
    maxEvents: onPlantsCreated === undefined ? 1 : maxBatch,
    onPlants: (events: PlantCreated[], ...context: Context): unknown =>
      onPlantsCreated === undefined
        ? onPlantCreated?.(events[0] as PlantCreated, ...context)
        : onPlantsCreated(events, ...context),
  }
}
