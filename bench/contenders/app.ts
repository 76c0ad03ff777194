import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { createMetrics } from '@plant-store/shared/runtime/metrics.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { createApp } from '../../services/api/src/app.ts'
import { openAuthentication } from '../../services/api/src/auth/open-authentication.ts'
import { addApiMetrics } from '../../services/api/src/metrics.ts'
import { ApiSettings } from '../../services/api/src/settings.ts'
import { replyToOrder } from '../own-process.ts'
import { TOKEN_DIGESTS } from '../plant.ts'
import { NO_POSITION, type OpenStore } from './store.ts'

// The api's own application in front of another store: routes, authentication, validation, limits, observer and metrics
// are those of services/api/src/main.ts, so that only the store differs. It runs in a separate process.

/** Stores nothing, and replies at once that the plant was created. */
const openNoStore: OpenStore = async () => ({ create: async () => ({ is: 'created', ...NO_POSITION }) })

/** Imported on demand, so that a process does not load the dependencies of the other stores. */
const STORES = {
  'no-store': async () => openNoStore,
  'producer-send': async () => (await import('./producer-send.ts')).openProducerSend,
  postgres: async () => (await import('./postgres.ts')).openPostgres,
  emmett: async () => (await import('./emmett.ts')).openEmmett,
}

export type ServeOrder = { store: keyof typeof STORES; settings: Readonly<Record<string, string>> }

/** Replies with its URL. */
await replyToOrder<ServeOrder, string>(async ({ store: name, settings: storeSettings }) => {
  const open: OpenStore = await STORES[name]()
  // The creates served here use neither Kafka nor Redis. All other settings have their defaults.
  const unused = { KAFKA_BROKERS: '127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:1' }
  const settings = readSettings(ApiSettings, { ...unused, PLANT_STORE_TOKEN_DIGESTS: TOKEN_DIGESTS })
  const log = createLog('bench', 'warn')
  const { strategy } = await openAuthentication(settings, log)
  const { app } = await createApp({
    ...{ log, settings, partitions: settings.PLANTS_PARTITIONS, strategy },
    creation: await open(storeSettings),
    ...{ reader: { read: noRead }, lister: { list: noRead } },
    onCompleted: addApiMetrics(createMetrics('bench')).requestCompleted,
    problems: () => [],
  })
  return app.listen({ port: 0, host: settings.HOST })
})

async function noRead(): Promise<never> {
  throw new Error('only creates are compared')
}
