import { setTimeout as delay } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import { createPlant, errorOf, readPlant, untilStopped } from './client.ts'
import { listAll } from './listing.ts'
import { createPlantStore, type Environment } from './plant-store.ts'
import { outputOf, runPlantctl } from './plantctl.ts'

export const PATIENT = { timeout: 60_000, interval: 20 }
/** Longer than any failover, and than a full load keeps a request waiting. */
export const DEADLINES = { CREATE_DEADLINE_MS: '30000', READ_DEADLINE_MS: '30000', QUEUE_MAX_AGE_MS: '30000' }
const CREATES_THAT_SHOW_PROGRESS = 300
/** Leaves CPU time for the servers that start meanwhile. */
const REST_MS = 100
const CONNECTIONS = 32
const DUPLICATE_ID = 40003
const DUPLICATE_EVERY = 7
const ABSENT_EVERY = 11
const LIST_EVERY = 1_000
const LISTED_AT_A_TIME = 1_000

type Created = { id: bigint; position: string; url: string }

/**
 * Creates, duplicates, reads and lists on several apis, where each response is known beforehand: nothing may fail. Ids
 * go up from 0; negative ones are never created. Each connection rests before its next create.
 */
export function startSteadyLoad(urls: readonly string[], restMs: number) {
  const wrong: unknown[] = []
  const done = { creates: 0, duplicates: 0, absences: 0, lists: 0 }
  const created: Created[] = []
  let nextList = LIST_EVERY

  async function step(id: bigint, connection: number): Promise<void> {
    await delay(restMs)
    const [url, other] = [connection, connection + 1].map((n) => urls[n % urls.length]) as [string, string]
    const { response } = await createPlant(url, id, `plant ${id}`)
    if (response?.status !== 200) return void wrong.push({ id, response })
    const latest = { id, position: String(response.headers['plants-position']), url }
    created.push(latest)
    done.creates++
    const earlier = created[(done.creates * 7_919) % created.length] ?? latest
    await Promise.all([read(other, latest), read(url, earlier)])
    if (done.creates % DUPLICATE_EVERY === 0) {
      const again = await createPlant(other, earlier.id, 'a second one')
      if (errorOf(again.response) !== DUPLICATE_ID) wrong.push(again)
      done.duplicates++
    }
    if (done.creates % ABSENT_EVERY === 0) {
      const absent = await readPlant(url, -1n - id)
      if (absent?.status !== 404) wrong.push({ id: -1n - id, absent })
      done.absences++
    }
    if (done.creates >= nextList) {
      // One at a time: an api limits the plants that it lists at once.
      nextList = Number.POSITIVE_INFINITY
      await list(url)
      nextList = done.creates + LIST_EVERY
    }
  }

  /** Another api may not have read this far: the consistency token makes it wait. */
  async function read(url: string, { id, position }: Created): Promise<void> {
    const response = await readPlant(url, id, { 'plants-position': position })
    const { name } = (response?.body ?? {}) as { name?: string }
    if (response?.status !== 200 || name !== `plant ${id}`) wrong.push({ id, response })
  }

  /** All that this api has answered 200 before has to be in its list, and nothing twice. */
  async function list(url: string): Promise<void> {
    const before = created.filter((plant) => plant.url === url)
    try {
      const items = await listAll([url], LISTED_AT_A_TIME)
      const listed = new Set(items.map(({ id }) => id))
      const missing = before.filter(({ id }) => !listed.has(id))
      if (missing.length > 0 || listed.size < items.length) wrong.push({ list: items.length, missing })
    } catch (error) {
      wrong.push({ list: url, error })
    }
    done.lists++
  }

  return { done, wrong, ...untilStopped(CONNECTIONS, step) }
}

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
