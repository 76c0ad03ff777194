import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { checkTopic, createTopic } from '@plant-store/shared/event-log/topic.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { argumentsOf } from '../../local/launch/service.mjs'
import { digestOf } from '../../local/launch/token.mjs'
import { freePort } from '../../local/processes/port.mjs'
import { type Exit, type RunningProcess, startProcess } from '../../local/processes/process.mjs'
import { sideBySide } from '../../local/processes/side-by-side.mjs'
import { ensureJars } from '../../local/stores/jars.mjs'
import { type RunningServer, startSentinels } from '../../local/stores/redis-sentinels.mjs'
import type { ConsumerTask } from '../support/consumer-process.ts'
import { startPlantctl } from '../support/plantctl.ts'
import { quietLog } from '../support/quiet-log.ts'
import { startKafka } from './kafka.ts'
import { createMember, type Member } from './member.ts'
import { startToxiproxy } from './toxiproxy.ts'

export const TOKEN = 'a-token-for-chaos'
export const TOPIC = 'plants'
export const PARTITIONS = 6
const APIS = ['api-1', 'api-2']
const PROJECTORS = ['projector-1', 'projector-2']
const CONSUMERS = ['memory', 'file', 'read model'] as const
const CONSUMER_PROGRAM = new URL('../support/consumer-process.ts', import.meta.url).pathname
const PLANT_BUG = new URL('plant-bug.ts', import.meta.url).pathname
const CLOCK = new URL('clock.ts', import.meta.url).pathname
/** Longer than the pauses that are to be taken for a slow network, shorter than those that are not. */
const DOWN_AFTER_MS = 2_000
const TOPIC_PATIENCE = { everyMs: 200, giveUpAfterMs: 60_000 }
const NOT_TO_BE_RESTARTED = 78
const RESTART_AFTER_MS = 1_000

export type Api = Member & { url: string }
export type Cluster = Awaited<ReturnType<typeof startCluster>>

export type ClusterOptions = {
  /** Belongs to this cluster alone: data, logs, deliveries of the consumers. */
  dir: string
  /** The name of a planted bug that api, projector and consumers have. */
  bug?: string | undefined
  /** Called when a process ends by itself; it is started again, as an orchestrator would. */
  onEnd(member: string, exit: Exit): void
}

/**
 * The cluster that production has, as processes of this machine: three brokers, a Redis with two replicas and three
 * sentinels, two apis, two projectors, and a consumer of each kind of first claims. Every connection passes toxiproxy.
 */
export async function startCluster({ dir, bug, onEnd }: ClusterOptions) {
  const logDir = join(dir, 'logs')
  const dataDir = join(dir, 'data')
  const deliveriesDir = join(dir, 'deliveries')
  for (const folder of [logDir, dataDir, deliveriesDir]) mkdirSync(folder, { recursive: true })
  const { java, kafkaClasspath: classpath, redisServer } = await ensureJars()
  const processes = new Map<string, RunningProcess>()
  let isEnding = false

  function onSpawn(running: RunningProcess): void {
    processes.set(running.name, running)
  }
  function onUnexpectedEnd(member: Member, exit: Exit): void {
    if (isEnding) return
    onEnd(member.name, exit)
    if (exit.code !== NOT_TO_BE_RESTARTED)
      setTimeout(() => void member.start().catch(() => undefined), RESTART_AFTER_MS)
  }
  const toxiproxy = await startToxiproxy(logDir, onSpawn)
  const places = { logDir, onSpawn }

  const redisLinks = new Map<string, Awaited<ReturnType<typeof toxiproxy.link>>>()
  async function reachedAt(name: string, port: number): Promise<number> {
    const link = await toxiproxy.link(`all>${name}`, port)
    redisLinks.set(name, link)
    return link.port
  }
  const [kafka, redis] = await sideBySide(
    AbortSignal.timeout(TOPIC_PATIENCE.giveUpAfterMs * 3),
    () =>
      startKafka({
        ...{ ...places, dir: join(dataDir, 'kafka'), java, classpath, toxiproxy, onUnexpectedEnd },
        clients: [...APIS, ...PROJECTORS, 'consumers'],
      }),
    () =>
      startSentinels({
        ...{ ...places, dir: join(dataDir, 'redis'), redisServer, reachedAt, downAfterMs: DOWN_AFTER_MS },
      }),
  )
  const memberOf = (server: RunningServer) =>
    createMember({ name: server.name, start: startOf(server), onUnexpectedEnd })
  const redisServers = redis.servers.map((server) => ({ ...memberOf(server), port: server.port }))
  const sentinels = redis.sentinels.map(memberOf)
  await Promise.all([...redisServers, ...sentinels].map((member) => member.start()))

  const admin = createKafka(kafka.brokers.split(','), 'chaos', quietLog)
  const topic = { topic: TOPIC, partitions: PARTITIONS }
  await retry(() => createTopic(admin, topic), TOPIC_PATIENCE)
  await retry(() => checkTopic(admin, topic), TOPIC_PATIENCE)

  const shared = {
    PATH: process.env.PATH,
    REDIS_SENTINELS: redis.addresses,
    REDIS_SENTINEL_NAME: redis.name,
    PLANTS_TOPIC: TOPIC,
    PLANTS_PARTITIONS: String(PARTITIONS),
  }
  const planted = bug !== undefined && { CHAOS_BUG: bug }
  const preloaded = [CLOCK, ...(bug === undefined ? [] : [PLANT_BUG])].map((file) => `--import=${file}`).join(' ')

  async function createService(name: string, kind: 'api' | 'projector', settings: NodeJS.ProcessEnv) {
    const opsPort = await freePort()
    const clockFile = join(dataDir, `${name}.clock`)
    writeFileSync(clockFile, '0')
    const env = {
      ...{ ...shared, ...planted, ...settings, KAFKA_BROKERS: kafka.brokersOf(name), OPS_PORT: String(opsPort) },
      ...{ NODE_OPTIONS: preloaded, CLOCK_FILE: clockFile },
    }
    const program = {
      name,
      command: process.execPath,
      args: argumentsOf(kind),
      logFile: join(logDir, `${name}.log`),
      env,
    }
    const start = async () => {
      const running = await startProcess(program)
      onSpawn(running)
      return running
    }
    const member = createMember({ name, start, onUnexpectedEnd })
    /** Sets the time of day of its processes off by this much. */
    function setClockOff(byMs: number): void {
      writeFileSync(clockFile, String(byMs))
      member.signal('SIGUSR2')
    }
    return { ...member, setClockOff, opsUrl: `http://127.0.0.1:${opsPort}` }
  }
  const apis = await Promise.all(
    APIS.map(async (name) => {
      const port = await freePort()
      const link = await toxiproxy.link(`clients>${name}`, port)
      const settings = { PORT: String(port), PLANT_STORE_TOKEN_DIGESTS: digestOf(TOKEN) }
      return { ...(await createService(name, 'api', settings)), url: `http://127.0.0.1:${link.port}`, link }
    }),
  )
  const projectors = await Promise.all(PROJECTORS.map((name) => createService(name, 'projector', {})))

  const consumers = CONSUMERS.map((firstClaims) => {
    const name = `consumer of ${firstClaims}`
    const fileName = firstClaims.replace(' ', '-')
    const task: ConsumerTask = {
      ...{ brokers: kafka.brokersOf('consumers').split(','), topic: TOPIC, firstClaims, workMs: 0 },
      groupId: `chaos-${fileName}`,
      deliveries: join(deliveriesDir, `${fileName}.txt`),
      claimFile: join(dataDir, `${fileName}.sqlite`),
      redis: { REDIS_SENTINELS: redis.addresses, REDIS_SENTINEL_NAME: redis.name },
    }
    const start = async () => {
      const env = {
        PATH: process.env.PATH,
        ...planted,
        ...(bug !== undefined && { NODE_OPTIONS: `--import=${PLANT_BUG}` }),
      }
      const args = [CONSUMER_PROGRAM, JSON.stringify(task)]
      const logFile = join(logDir, `consumer-${fileName}.log`)
      const running = await startProcess({ name, command: process.execPath, args, logFile, env })
      onSpawn(running)
      return running
    }
    return { ...createMember({ name, start, onUnexpectedEnd }), firstClaims, deliveries: task.deliveries }
  })

  return {
    ...{ kafka, admin, redisServers, sentinels, apis, projectors, consumers, logDir },
    services: [...apis, ...projectors],
    links: [...kafka.links, ...redisLinks.values(), ...apis.map(({ link }) => link)],
    /** A run of plantctl, directly at the stores. */
    plantctl: (...args: string[]) => startPlantctl(args, { ...shared, KAFKA_BROKERS: kafka.brokers }),

    /** Starts the services and the consumers. */
    async start(): Promise<void> {
      await Promise.all([...apis, ...projectors, ...consumers].map((member) => member.start()))
    },

    /** Ends all processes at once. */
    async end(): Promise<void> {
      isEnding = true
      await Promise.all([...processes.values()].map((running) => running.stop({ graceMs: 0 })))
    },
  }
}

/** The first start has happened already. */
function startOf(server: RunningServer): () => Promise<RunningProcess> {
  let first: RunningProcess | undefined = server
  return async () => {
    const running = first ?? (await server.start())
    first = undefined
    return running
  }
}
