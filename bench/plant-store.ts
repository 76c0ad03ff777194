import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { replay } from '@plant-store/shared/event-log/replay.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { checkpointBefore } from '@plant-store/shared/protocol/checkpoint.ts'
import { createReadModel } from '@plant-store/shared/read-model/read-model.ts'
import { createLog } from '@plant-store/shared/runtime/json-log.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { Redis } from 'ioredis'
import { argumentsOf } from '../local/launch/service.ts'
import { freePort } from '../local/processes/port.ts'
import { startUntilReady } from '../local/processes/process.ts'
import { isReady } from '../tests/support/is-ready.ts'
import { createTableTopic, createTestTopic } from '../tests/support/topic.ts'
import { TOKEN_DIGESTS } from './plant.ts'
import { type BenchStores, redisInfo } from './stores.ts'

/** The default of PLANTS_PARTITIONS. */
export const PARTITIONS = 12
const START_LIMIT = { startTimeoutMs: 120_000 }
const STOP_GRACE_MS = 10_000
/** The settings of tracing and of the table, so that their cost can be measured; Node's for profiles. */
const PASSED_ON = /^(OTEL_.*|PLANTS_TABLE|NODE_OPTIONS|PATH)$/
const KEYS_AT_A_TIME = 1_000
const PROJECTED = { everyMs: 100, minPerSecond: 2_000, moreMs: 60_000 }

/** The number of processes of each kind. An idle api gets no requests: it only reads what the others append. */
export type Deployment = { apis: number; idle?: number; projectors?: number }
type Settings = Record<string, string>

/**
 * A new topic, made as the product makes it, and a read model. The services on them are the real processes, with default
 * settings, started from the release in `checkout`; from this one unless given. Disposal stops and removes everything.
 */
export async function openPlantStore(
  { kafkaBrokers, redisUrl, folder: root, processes }: BenchStores,
  { partitions = PARTITIONS, checkout }: { partitions?: number; checkout?: string | undefined } = {},
) {
  const { kafka, topic } = await createTestTopic(kafkaBrokers, partitions)
  const withTable = process.env.PLANTS_TABLE === 'on'
  const tables = withTable ? [(await createTableTopic({ kafka, topic, partitions })).topic] : []
  const redis = new Redis(redisUrl)
  const readModelSettings = { redis: { REDIS_URL: redisUrl }, topic, partitions }
  const log = createLog('bench', 'error')
  const readModel = createReadModel(readModelSettings, log)
  await readModel.ready()
  const folder = mkdtempSync(join(root, 'services-'))
  const stops: (() => Promise<unknown>)[] = []
  const environment = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED_ON.test(name))),
    ...{ KAFKA_BROKERS: kafkaBrokers, REDIS_URL: redisUrl },
    ...{ PLANTS_TOPIC: topic, PLANTS_PARTITIONS: String(partitions) },
  }

  async function start(name: 'api' | 'projector', settings: Settings = {}) {
    const [port, opsPort] = [await freePort(), await freePort()]
    const own = name === 'api' ? { PORT: String(port), PLANT_STORE_TOKEN_DIGESTS: TOKEN_DIGESTS } : {}
    const env = { ...environment, OPS_PORT: String(opsPort), ...own, ...settings }
    const logFile = join(folder, `${name}-${opsPort}.log`)
    const program = { name, command: process.execPath, args: argumentsOf(name, checkout), logFile, env }
    const begin = performance.now()
    const running = await startUntilReady(program, () => isReady(`http://127.0.0.1:${opsPort}`), START_LIMIT)
    // Readiness is polled every 50 ms.
    const readySeconds = (performance.now() - begin) / 1_000
    const stop = () => running.stop({ graceMs: STOP_GRACE_MS })
    stops.push(stop)
    return { pid: running.pid, url: `http://127.0.0.1:${port}`, readySeconds, stop }
  }

  async function counts() {
    const metas = await Promise.all(allPartitions(partitions).map((partition) => readModel.meta(partition)))
    const sum = (name: 'plants' | 'voids' | 'parked') => metas.reduce((total, meta) => total + meta[name], 0)
    return { plants: sum('plants'), voids: sum('voids'), parked: sum('parked') }
  }

  const logEnds = async () => (await checkTopic(kafka, { topic, partitions })).ends

  async function removeReadModel(): Promise<void> {
    for await (const keys of redis.scanStream({ match: `{${topic}:*`, count: KEYS_AT_A_TIME }))
      if (keys.length > 0) await redis.del(...keys)
  }

  return {
    ...{ kafka, topic, partitions, readModel: readModelSettings, environment },
    ...{ start, counts, logEnds, removeReadModel },

    /** Starts these services. Returns the apis that get requests, and all processes that take part in a create. */
    async deploy({ apis, idle = 0, projectors = 1 }: Deployment, settings: Settings = {}) {
      const times = (count: number, name: 'api' | 'projector') =>
        Promise.all(Array.from({ length: count }, () => start(name, settings)))
      const folding = await times(projectors, 'projector')
      const [loaded, idling] = [await times(apis, 'api'), await times(idle, 'api')]
      const started = Object.entries({ api: loaded, 'idle api': idling, projector: folding })
      const kinds = started.filter(([, { length }]) => length > 0)
      const pids = Object.fromEntries(kinds.map(([kind, services]) => [kind, services.map(({ pid }) => pid)]))
      return { urls: loaded.map(({ url }) => url), processes: { ...pids, ...processes } }
    },

    /** Bytes of memory that Redis uses for everything that it stores. */
    redisBytes: async () => Number(await redisInfo(redisUrl, 'memory', 'used_memory')),

    /** The ids of these that no record in the log claims, from these offsets on or in all of the log. */
    async missing(acknowledged: Iterable<bigint>, from: readonly number[] = []): Promise<bigint[]> {
      const missing = new Set<bigint>(acknowledged)
      const ends = await logEnds()
      const ranges = ends.map((end, n) => [n as Partition, { from: checkpointBefore(from[n] ?? 0), end }] as const)
      await replay({
        ...{ kafka, topic, partitions, log, time: systemTime, read: recordReader(partitions), ranges: new Map(ranges) },
        onRecords(_partition, records) {
          for (const { claim } of records) if (claim?.plant !== undefined) missing.delete(claim.id)
        },
      })
      return [...missing]
    },

    async untilProjected(plants: number): Promise<void> {
      const deadline = performance.now() + PROJECTED.moreMs + (plants / PROJECTED.minPerSecond) * 1_000
      while ((await counts()).plants < plants) {
        if (performance.now() > deadline) throw new Error(`the projector did not apply ${plants} plants in time`)
        await delay(PROJECTED.everyMs)
      }
    },

    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all(stops.map((stop) => stop()))
      await removeReadModel()
      await readModel.close()
      redis.disconnect()
      await withAdmin(kafka, (admin) => admin.deleteTopics({ topics: [topic, ...tables] }))
    },
  }
}

export type PlantStore = Awaited<ReturnType<typeof openPlantStore>>
