import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { NewPlant } from '@plant-store/shared/plant/plant.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { createMetrics } from '@plant-store/shared/runtime/metrics.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { createApp } from '../../services/api/src/app.ts'
import { openAuthentication } from '../../services/api/src/auth/open-authentication.ts'
import { addApiMetrics } from '../../services/api/src/metrics.ts'
import { ApiSettings } from '../../services/api/src/settings.ts'

/** The outcome of a create, and the position for its response: a constant if the store has no positions. */
export type Created = { is: 'created' | 'duplicate'; partition: Partition; offset: Offset }

/** A store behind the api's application. */
export type BenchStore = {
  /** Resolves when the plant is stored as the contender promises. An error becomes a response 500 and fails the run. */
  create(plant: NewPlant, eventId: EventId): Promise<Created>
}

/** The settings that a store is started with: addresses and names. */
export type StoreSettings = Readonly<Record<string, string>>
export type OpenStore = (settings: StoreSettings) => Promise<BenchStore>

/**
 * Serves the api's own application in front of another store. Routes, authentication, validation, limits, observer and
 * metrics are those of services/api/src/main.ts, so that only the store differs. Resolves to the URL.
 */
export async function serveApp(store: BenchStore, tokenDigests: string): Promise<string> {
  // The creates served here use neither Kafka nor Redis. All other settings have their defaults.
  const unused = { KAFKA_BROKERS: '127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:1' }
  const settings = readSettings(ApiSettings, { ...unused, PLANT_STORE_TOKEN_DIGESTS: tokenDigests })
  const log = createLog('bench', 'warn')
  const observe = addApiMetrics(createMetrics('bench'))
  const { strategies } = await openAuthentication(settings, log)
  const { app } = await createApp({
    ...{ log, limits: settings, partitions: settings.PLANTS_PARTITIONS, strategies },
    creation: { create: ({ plant, eventId }) => store.create(plant, eventId) },
    reader: { read: noRead },
    lister: { list: noRead },
    onCompleted: observe.requestCompleted,
    problems: () => [],
  })
  return app.listen({ port: 0, host: settings.HOST })
}

async function noRead(): Promise<never> {
  throw new Error('only creates are compared')
}
