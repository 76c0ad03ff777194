import type { ReadModelSettings } from '@plant-store/shared/read-model/read-model.ts'
import { API_NODE_OPTIONS } from '../../local/launch/service.ts'
import type { Processes } from '../measure/cpu.ts'
import { startOwnProcess } from '../own-process.ts'
import { openPlantStore } from '../plant-store.ts'
import { missingFrom, startPostgres } from '../postgres/server.ts'
import type { BenchStores } from '../stores.ts'
import type { ServeOrder } from './app.ts'
import { startSecuredKafka } from './secured-kafka.ts'

/** A service that takes creates, and the guarantee of its acknowledgement. */
export type Contender = {
  name: string
  /** The place of an acknowledged plant, in a few words. */
  promise: string
  isUnique: boolean
  /** Its stores keep running from round to round: they are warmed up before the first. */
  keepsStores?: boolean
  /** Starts it. Resolves when it accepts creates. No other contender uses the stores while it runs. */
  start(stores: BenchStores): Promise<Running>
}

export type Running = AsyncDisposable & {
  /** The base URLs of `POST /plants`. */
  urls: readonly string[]
  processes: Processes
  readModel?: ReadModelSettings
  /** The acknowledged ids that it has not stored. Undefined for a contender without a store. */
  missing?(acknowledged: Iterable<bigint>): Promise<bigint[]>
}

const START_TIMEOUT_MS = 30_000
const APP = new URL('app.ts', import.meta.url)
const LOGGED = 'in the log of all in-sync replicas (one here), not forced to disk'
/** Conditions in SQL: the plant with the id `acknowledged.id`, a bigint, is stored. */
const KEEPS = {
  postgres: 'EXISTS (SELECT FROM plants WHERE plants.id = acknowledged.id)',
  emmett: `EXISTS (SELECT FROM emt_messages WHERE stream_id = 'plant-' || acknowledged.id AND stream_position = 1)`,
}

/** It runs until the benchmark ends. */
let securedKafka: ReturnType<typeof startSecuredKafka> | undefined

export const [OWN, BARE, POSTGRES] = ['this-service', 'no-store', 'postgres'] as const

export const CONTENDERS: readonly Contender[] = [
  {
    ...{ name: OWN, promise: `${LOGGED}; unique; readable at once`, isUnique: true, keepsStores: true },
    start: (stores) => startServices(stores, {}),
  },
  {
    ...{ name: 'this-service-tls', promise: 'the same, by TLS and SCRAM', isUnique: true, keepsStores: true },
    async start(stores) {
      securedKafka ??= startSecuredKafka(stores.folder)
      const { pid, brokers, settings } = await securedKafka
      const processes = { ...stores.processes, broker: [pid] }
      return startServices({ ...stores, kafkaBrokers: brokers, processes }, settings)
    },
  },
  {
    ...{ name: BARE, promise: 'not stored: the api without its store', isUnique: false },
    start: () => startApp({ store: 'no-store', settings: {} }),
  },
  {
    name: 'producer-send',
    promise: `${LOGGED}, by one producer.send a request; not unique, not readable`,
    ...{ isUnique: false, keepsStores: true },
    async start(stores) {
      const store = await openPlantStore(stores)
      const settings = { kafkaBrokers: stores.kafkaBrokers, topic: store.topic, partitions: String(store.partitions) }
      const processes = { broker: stores.processes.broker }
      const { missing, [Symbol.asyncDispose]: dispose } = store
      return startApp({ store: 'producer-send', settings }, { processes, missing, [Symbol.asyncDispose]: dispose })
    },
  },
  onPostgres(POSTGRES, 'in a row of PostgreSQL, unique, on disk (fsync)'),
  onPostgres('postgres-no-fsync', 'in a row of PostgreSQL, unique, in memory', { fsync: false }),
  onPostgres('emmett', 'in a stream of emmett on PostgreSQL, unique, on disk (fsync)', { store: 'emmett' }),
]

/** The real processes of the services, as `npm start` runs them, with default settings except for these. */
async function startServices(stores: BenchStores, settings: Record<string, string>): Promise<Running> {
  const store = await openPlantStore(stores)
  return { ...store, ...(await store.deploy({ apis: 1 }, settings)) }
}

/** The api's application in front of another store, with the options of Node that the api has. */
async function startApp(order: ServeOrder, store: Partial<Running> = {}): Promise<Running> {
  const { reply: url, pid, stop } = await startOwnProcess<string>(APP, order, START_TIMEOUT_MS, API_NODE_OPTIONS)
  const dispose = () => stop().then(store[Symbol.asyncDispose])
  return { ...store, urls: [url], processes: { api: [pid], ...store.processes }, [Symbol.asyncDispose]: dispose }
}

type OnPostgres = { store?: keyof typeof KEEPS; fsync?: boolean }

/** The app in front of a store in a new PostgreSQL. */
function onPostgres(name: string, promise: string, { store = 'postgres', fsync = true }: OnPostgres = {}) {
  async function start(): Promise<Running> {
    const { url, pid, stop } = await startPostgres({ fsync })
    const missing = (acknowledged: Iterable<bigint>) => missingFrom(url, [...acknowledged], KEEPS[store])
    const behind = { processes: { PostgreSQL: [pid] }, missing, [Symbol.asyncDispose]: stop }
    return startApp({ store, settings: { postgresUrl: url } }, behind)
  }
  return { name, promise, isUnique: true, start }
}
