import type { Contender, RunningContender } from '../contender.ts'
import { openPlantStore } from '../plant-store.ts'
import type { BenchStores } from '../stores.ts'
import { TOKEN } from './app-process.ts'
import { startSecuredKafka } from './secured-kafka.ts'

const promise = 'in the log of all in-sync replicas (one here), not forced to disk; unique; readable at once'

/** The real processes of the services, as `npm start` runs them, with all settings as by default. */
export const thisService: Contender = {
  name: 'this service',
  promise,
  start: (stores) => startServices(stores, {}),
}

let securedKafka: ReturnType<typeof startSecuredKafka> | undefined

/** The same on a Kafka of its own, which runs until the benchmark ends. */
export const thisServiceTls: Contender = {
  name: 'this service, Kafka by TLS and SCRAM',
  promise,
  async start(stores) {
    securedKafka ??= startSecuredKafka(stores.folder)
    const { pid, brokers, settings } = await securedKafka
    const processes = new Map([...stores.processes, ['broker', pid] as const])
    return startServices({ ...stores, kafkaBrokers: brokers, processes }, settings)
  },
}

async function startServices(stores: BenchStores, settings: Record<string, string>): Promise<RunningContender> {
  const store = await openPlantStore(stores)
  const { redis, topic, partitions, missing } = store
  const [api, projector] = await Promise.all([store.startApi(settings), store.startProjector(settings)])
  return {
    ...{ url: api.url, token: TOKEN, missing },
    processes: new Map([['api', api.pid], ['projector', projector.pid], ...stores.processes]),
    readModel: { redis, topic, partitions },
    async stop() {
      await Promise.all([api.stop(), projector.stop()])
      await store.remove()
    },
  }
}
