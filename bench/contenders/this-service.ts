import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from '../../local/processes/port.mjs'
import { type RunningProcess, startProcess, untilReady } from '../../local/processes/process.mjs'
import type { Contender, RunningContender } from '../contender.ts'
import type { BenchStores } from '../stores.ts'
import { TOKEN, TOKEN_DIGESTS } from './app-process.ts'
import { openPlantsTopic } from './plants-topic.ts'

const START_TIMEOUT_MS = 60_000
const STOP_GRACE_MS = 10_000
const KEYS_AT_A_TIME = 1_000

/** The real processes of the services, as `npm start` runs them, with all settings as by default. */
export const thisService: Contender = {
  name: 'this service',
  promise: 'in the log of all in-sync replicas (one here), not forced to disk; unique; readable at once',
  start: (stores) => startService(stores, {}),
}

/** @param settings of the api, beside what it needs */
export async function startService(
  { kafkaBrokers, redisUrl, processes }: BenchStores,
  settings: Record<string, string>,
): Promise<RunningContender> {
  const log = await openPlantsTopic(kafkaBrokers)
  const { topic, partitions } = log
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-bench-'))
  const port = await freePort()
  const environment = {
    PATH: process.env.PATH,
    ...{ KAFKA_BROKERS: kafkaBrokers, REDIS_URL: redisUrl },
    ...{ PLANTS_TOPIC: topic, PLANTS_PARTITIONS: String(partitions) },
  }
  const start = (service: string, more: Record<string, string>) =>
    startReady(service, folder, { ...environment, ...more })
  const services = await Promise.all([
    start('api', { PORT: String(port), PLANT_STORE_TOKEN_DIGESTS: TOKEN_DIGESTS, ...settings }),
    start('projector', {}),
  ])

  return {
    ...{ url: `http://127.0.0.1:${port}`, token: TOKEN, missing: log.missing },
    processes: new Map([...services.map(({ name, pid }) => [name, pid] as const), ...processes]),
    readModel: { redisUrl, topic, partitions },
    async stop() {
      await Promise.all(services.map(({ stop }) => stop({ graceMs: STOP_GRACE_MS })))
      await Promise.all([log.remove(), removeKeys(redisUrl, topic)])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startReady(service: string, folder: string, env: NodeJS.ProcessEnv): Promise<RunningProcess> {
  const opsPort = await freePort()
  const running = await startProcess({
    name: service,
    command: process.execPath,
    args: [new URL(`../../services/${service}/src/main.ts`, import.meta.url).pathname],
    logFile: join(folder, `${service}.log`),
    env: { ...env, OPS_PORT: String(opsPort) },
  })
  const isReady = () =>
    fetch(`http://127.0.0.1:${opsPort}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  await untilReady(running, { isReady, startTimeoutMs: START_TIMEOUT_MS })
  return running
}

async function removeKeys(redisUrl: string, topic: string): Promise<void> {
  const redis = new Redis(redisUrl)
  for await (const keys of redis.scanStream({ match: `{${topic}:*`, count: KEYS_AT_A_TIME }))
    if (keys.length > 0) await redis.unlink(...keys)
  await redis.quit()
}
