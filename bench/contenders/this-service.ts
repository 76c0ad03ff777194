import type { Contender, RunningContender } from '../contender.ts'
import { openPlantStore } from '../plant-store.ts'
import type { BenchStores } from '../stores.ts'
import { TOKEN } from './app-process.ts'

/** The real processes of the services, as `npm start` runs them, with all settings as by default. */
export const thisService: Contender = {
  name: 'this service',
  promise: 'in the log of all in-sync replicas (one here), not forced to disk; unique; readable at once',
  start: (stores) => startService(stores, {}),
}

/** @param settings of the api, beside what it needs */
export async function startService(
  stores: BenchStores,
  settings: Record<string, string>,
): Promise<RunningContender> {
  const store = await openPlantStore(stores)
  const { redisUrl, topic, partitions, missing } = store
  const [api, projector] = await Promise.all([store.startApi(settings), store.startProjector()])
  return {
    ...{ url: api.url, token: TOKEN, missing },
    processes: new Map([['api', api.pid], ['projector', projector.pid], ...stores.processes]),
    readModel: { redisUrl, topic, partitions },
    async stop() {
      await Promise.all([api.stop(), projector.stop()])
      await store.remove()
    },
  }
}
