import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { digestOf } from '@plant-store/shared/access/token-entry.ts'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { RedisSettings } from '@plant-store/shared/read-model/redis-settings.ts'
import { Redis } from 'ioredis'
import { inject, onTestFinished } from 'vitest'
import { argumentsOf } from '../../local/launch/service.ts'
import { freePort } from '../../local/processes/port.ts'
import { type RunningProcess, startProcess, untilReady } from '../../local/processes/process.ts'
import { isReady } from './is-ready.ts'
import { startPlantctl } from './plantctl.ts'
import { quietLog } from './quiet-log.ts'
import { expectNoSecrets, SECRET_MARK } from './secrets.ts'
import { processEnvironment } from './test-run.ts'
import { createTestTopic } from './topic.ts'

export const TOKEN = `a-token-${SECRET_MARK}`
const CALLER = 'tests'
const PARTITIONS = 6
const START_TIMEOUT_MS = 60_000
const STOP_GRACE_MS = 10_000

/** The Kafka and the Redis of a store; without them, the stores of the test run. */
export type Environment = { kafkaBrokers?: string; redisUrl?: string; redis?: RedisSettings }
type Settings = Record<string, string>
/** When a start resolves, at `listening` with an operations port that responds. */
type Started = 'ready' | 'listening'
export type RunningService = RunningProcess & { opsUrl: string; logFile: string }
export type RunningApi = RunningService & { url: string }

/** A plant store with its own topic on this Kafka and Redis; it ends with the test. */
export async function createPlantStore(environment?: Environment) {
  const store = await openPlantStore(environment)
  onTestFinished(store.end)
  return store
}

/** The same with an api, which has these settings, and no projector: the tail of the api has each plant. */
export async function startApiAlone({ api: settings, ...environment }: Environment & { api?: Settings } = {}) {
  const store = await createPlantStore(environment)
  return { store, api: await store.startApi(settings) }
}

/** The same with an api, which has these settings, and a projector. */
export async function startPlantStore({ api: settings, ...environment }: Environment & { api?: Settings } = {}) {
  const store = await createPlantStore(environment)
  const [api, projector] = await Promise.all([store.startApi(settings), store.startProjector()])
  return { store, api, projector }
}

/** A plant store with its own topic on this Kafka and Redis, for several tests; the caller has to end it. */
export async function openPlantStore({
  kafkaBrokers = inject('kafkaBrokers'),
  redisUrl = inject('redisUrl'),
  redis = { REDIS_URL: redisUrl },
}: Environment = {}) {
  const closers: (() => Promise<unknown>)[] = []
  const log = await createTestTopic(kafkaBrokers, PARTITIONS)
  const { topic } = log
  const folder = mkdtempSync(join(inject('testRun'), 'services-'))
  closers.push(async () => {
    expectNoSecrets(folder)
    rmSync(folder, { recursive: true, force: true })
  })
  const readModel = createReadModel({ redis, topic, partitions: PARTITIONS }, quietLog)
  closers.push(readModel.close)
  await readModel.ready()

  const environment = {
    ...processEnvironment,
    KAFKA_BROKERS: kafkaBrokers,
    ...redis,
    REDIS_URL: redis.REDIS_URL ?? '',
    PLANTS_TOPIC: topic,
    PLANTS_PARTITIONS: String(PARTITIONS),
  }

  async function startService(
    service: 'api' | 'projector',
    settings: Settings,
    started: Started,
  ): Promise<RunningService> {
    const opsPort = await freePort()
    const logFile = join(folder, `${service}-${opsPort}.log`)
    const running = await startProcess({
      name: service,
      command: process.execPath,
      args: argumentsOf(service),
      logFile,
      env: { ...environment, OPS_PORT: String(opsPort), ...settings },
    })
    closers.push(() => running.stop({ graceMs: STOP_GRACE_MS }))
    const opsUrl = `http://127.0.0.1:${opsPort}`
    await untilReady(running, { isReady: () => isReady(opsUrl, started), startTimeoutMs: START_TIMEOUT_MS })
    return { ...running, opsUrl, logFile }
  }

  return {
    ...log,
    readModel,
    /** The settings by which a process finds this store. */
    environment,
    plantctl: (...args: string[]) => startPlantctl(args, environment).ended,

    async startApi(settings: Settings = {}, started: Started = 'ready'): Promise<RunningApi> {
      const port = await freePort()
      const digest = digestOf(TOKEN).toString('hex')
      const tokens = { PORT: String(port), PLANT_STORE_TOKEN_DIGESTS: `${CALLER}:${digest}` }
      const scheme = settings.HTTP_TLS_CERT_FILE === undefined ? 'http' : 'https'
      const running = await startService('api', { ...tokens, ...settings }, started)
      return { ...running, url: `${scheme}://127.0.0.1:${port}` }
    },

    async end(): Promise<void> {
      for (const close of closers.reverse()) await close()
    },

    startProjector: (settings: Settings = {}, started: Started = 'ready') =>
      startService('projector', settings, started),
  }
}

/** A plain client of the Redis under test, for what only a fault or a check would do. */
export function openRedis(redisUrl = inject('redisUrl')): Redis {
  const redis = new Redis(redisUrl)
  // Its calls reject with the error; without a listener ioredis would print it as well.
  redis.on('error', () => undefined)
  onTestFinished(() => redis.disconnect())
  return redis
}

export type PlantStore = Awaited<ReturnType<typeof createPlantStore>>
