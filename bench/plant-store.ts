import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { argumentsOf } from '../local/launch/service.mjs'
import type { ServiceKind } from '../local/launch/settings.mjs'
import { freePort } from '../local/processes/port.mjs'
import { type RunningProcess, startProcess, untilReady } from '../local/processes/process.mjs'
import { isReady } from '../tests/support/is-ready.ts'
import { TOKEN_DIGESTS } from './contenders/app-process.ts'
import { openPlantsTopic } from './contenders/plants-topic.ts'
import type { BenchStores } from './stores.ts'

const START_TIMEOUT_MS = 120_000
const STOP_GRACE_MS = 10_000
const KEYS_AT_A_TIME = 1_000

/** `readyAfterMs`: from the start until /readyz responds 200; it is polled every 50 ms. */
export type RunningService = Pick<RunningProcess, 'name' | 'pid'> & {
  readyAfterMs: number
  stop(): Promise<void>
}
export type RunningApi = RunningService & { url: string }

/** Settings in the environment that the services get, so that the cost of tracing and of the table can be measured. */
const measuredSettings = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => /^OTEL_|^PLANTS_TABLE$/.test(name)))

/** A topic and a read model of its own. The services on them are the real processes, with default settings. */
export async function openPlantStore({ kafkaBrokers, redisUrl, folder: root }: BenchStores) {
  const log = await openPlantsTopic(kafkaBrokers, { withTable: process.env.PLANTS_TABLE === 'on' })
  const { topic, partitions } = log
  const folder = mkdtempSync(join(root, 'services-'))
  const environment = {
    PATH: process.env.PATH,
    ...measuredSettings(),
    ...{ KAFKA_BROKERS: kafkaBrokers, REDIS_URL: redisUrl },
    ...{ PLANTS_TOPIC: topic, PLANTS_PARTITIONS: String(partitions) },
  }

  async function start(name: ServiceKind, settings: Record<string, string>): Promise<RunningService> {
    const opsPort = await freePort()
    const begin = performance.now()
    const running = await startProcess({
      name,
      command: process.execPath,
      args: argumentsOf(name),
      logFile: join(folder, `${name}-${opsPort}.log`),
      env: { ...environment, OPS_PORT: String(opsPort), ...settings },
    })
    const opsUrl = `http://127.0.0.1:${opsPort}`
    await untilReady(running, { isReady: () => isReady(opsUrl), startTimeoutMs: START_TIMEOUT_MS })
    const readyAfterMs = performance.now() - begin
    return {
      ...{ name, pid: running.pid, readyAfterMs },
      async stop() {
        await running.stop({ graceMs: STOP_GRACE_MS })
      },
    }
  }

  return {
    ...{ redis: { REDIS_URL: redisUrl }, topic, partitions, environment, missing: log.missing },

    async startApi(settings: Record<string, string> = {}): Promise<RunningApi> {
      const port = await freePort()
      const own = { PORT: String(port), PLANT_STORE_TOKEN_DIGESTS: TOKEN_DIGESTS }
      return { ...(await start('api', { ...own, ...settings })), url: `http://127.0.0.1:${port}` }
    },

    startProjector: (settings: Record<string, string> = {}) => start('projector', settings),

    /** Removes the topic and the read model. Stop the services before. */
    async remove(): Promise<void> {
      await Promise.all([log.remove(), removeKeys(redisUrl, topic)])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type PlantStore = Awaited<ReturnType<typeof openPlantStore>>

async function removeKeys(redisUrl: string, topic: string): Promise<void> {
  const redis = new Redis(redisUrl)
  for await (const keys of redis.scanStream({ match: `{${topic}:*`, count: KEYS_AT_A_TIME }))
    if (keys.length > 0) await redis.unlink(...keys)
  await redis.quit()
}
