import { expect, vi } from 'vitest'
import { createPlantStore, type Environment } from './plant-store.ts'
import { outputOf, runPlantctl } from './plantctl.ts'
import { startSteadyLoad } from './steady-load.ts'

export const PATIENT = { timeout: 60_000, interval: 20 }
/** Longer than any failover, and than a full load keeps a request waiting. */
export const DEADLINES = { CREATE_DEADLINE_MS: '30000', READ_DEADLINE_MS: '30000', QUEUE_MAX_AGE_MS: '30000' }
const CREATES_THAT_SHOW_PROGRESS = 300
/** Leaves CPU time for the servers that start meanwhile. */
const REST_MS = 100

/** A plant store with an api and a projector, which have these settings, under load of which each response is known. */
export async function startLoadedStore(environment: Environment, settings: Record<string, string> = {}) {
  const store = await createPlantStore(environment)
  const projector = await store.startProjector(settings)
  const api = await store.startApi({ ...DEADLINES, ...settings })
  const load = startSteadyLoad([api.url], REST_MS)

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
    ...{ store, api, projector, load: { ...load, goesOn } },

    /** Ends the load: each of its responses was right, and the read model is the fold of the log. */
    async expectNoHarm(): Promise<void> {
      await load.stop()
      expect(load.wrong).toEqual([])
      await outputOf(runPlantctl(['verify'], store.environment))
    },
  }
}
