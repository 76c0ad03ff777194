import { expect, vi } from 'vitest'
import { createPlantStore, type Environment } from './plant-store.ts'
import { outputOf, runPlantctl } from './plantctl.ts'
import { startSteadyLoad } from './steady-load.ts'

export const PATIENT = { timeout: 60_000, interval: 20 }
/** Longer than any failover, and than a full load keeps a request waiting. */
export const DEADLINES = { CREATE_DEADLINE_MS: '30000', READ_DEADLINE_MS: '30000', QUEUE_MAX_AGE_MS: '30000' }
const CREATES_THAT_SHOW_PROGRESS = 300

/** A plant store with an api and a projector as processes, under load: each response is known beforehand. */
export async function startLoadedStore(environment: Environment) {
  const store = await createPlantStore(environment)
  const projector = await store.startProjector()
  const api = await store.startApi(DEADLINES)
  const load = startSteadyLoad([api.url])

  /** Resolves when this many creates more have succeeded. */
  async function goesOn(): Promise<void> {
    const { creates } = load.done
    await vi.waitFor(() => {
      expect(load.wrong).toEqual([])
      expect(load.done.creates).toBeGreaterThan(creates + CREATES_THAT_SHOW_PROGRESS)
    }, PATIENT)
  }
  await goesOn()
  return {
    store,
    api,
    projector,
    load: { ...load, goesOn },

    /** Ends the load: each of its responses was right, and the read model is the fold of the log. */
    async expectNoHarm(): Promise<void> {
      await load.stop()
      expect(load.wrong).toEqual([])
      await outputOf(runPlantctl(['verify'], store.environment))
    },
  }
}
