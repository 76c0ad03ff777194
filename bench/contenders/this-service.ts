import type { Contender } from '../contender.ts'
import { openPlantStore } from '../plant-store.ts'
import { TOKEN } from './app-process.ts'

/** The real processes of the services, as `npm start` runs them, with all settings as by default. */
export const thisService: Contender = {
  name: 'this service',
  promise: 'in the log of all in-sync replicas (one here), not forced to disk; unique; readable at once',
  async start(stores) {
    const store = await openPlantStore(stores)
    const { redis, topic, partitions, missing } = store
    const [api, projector] = await Promise.all([store.startApi(), store.startProjector()])
    return {
      ...{ url: api.url, token: TOKEN, missing },
      processes: new Map([['api', api.pid], ['projector', projector.pid], ...stores.processes]),
      readModel: { redis, topic, partitions },
      async stop() {
        await Promise.all([api.stop(), projector.stop()])
        await store.remove()
      },
    }
  },
}
