import { once } from 'node:events'
import { type OpenStore, type StoreSettings, serveApp } from './create.ts'

// The api's application in front of another store. It runs in a process of its own, so that its cost is measured
// separately. It receives the store's name as a message, replies with its URL, and ends with the process that started
// it.

/** Imported on demand, so that a process does not load the dependencies of the other stores. */
const STORES = {
  'no-store': async () => (await import('./stores/no-store.ts')).openNoStore,
  'producer-send': async () => (await import('./stores/producer-send.ts')).openProducerSend,
  postgres: async () => (await import('./stores/postgres.ts')).openPostgres,
  emmett: async () => (await import('./stores/emmett.ts')).openEmmett,
} satisfies Record<string, () => Promise<OpenStore>>

export type StoreName = keyof typeof STORES
export type ServeOrder = { store: StoreName; settings: StoreSettings; tokenDigests: string }
export type Serving = { url: string }

process.once('disconnect', () => process.exit())
const [{ store, settings, tokenDigests }] = (await once(process, 'message')) as [ServeOrder]
const open = await STORES[store]()
const serving: Serving = { url: await serveApp(await open(settings), tokenDigests) }
process.send?.(serving)
