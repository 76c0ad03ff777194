import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createKafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { checkTopic, createTopic, TABLE } from '@plant-store/shared/event-log/topic.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { livingProcesses, onEachStart } from '../../local/processes/process.ts'
import { sideBySide } from '../../local/processes/side-by-side.ts'
import { ensureKafka, ensureRedis } from '../../local/stores/jars.ts'
import { type RunningServer, startSentinels } from '../../local/stores/redis-sentinels.ts'
import { untilBrokersAreKnown } from '../support/known-brokers.ts'
import { startPlantctl } from '../support/plantctl.ts'
import { quietLog } from '../support/quiet-log.ts'
import { startClusterNodes } from '../support/redis-cluster-nodes.ts'
import { tableTopicOf } from '../support/topic.ts'
import { startKafka } from './kafka.ts'
import { createMember, type Member, type MemberOptions } from './member.ts'
import { APIS, CONSUMERS, createApis, createConsumers, createProjectors, PROJECTORS, type Variant } from './services.ts'
import { type Link, startToxiproxy, type Toxiproxy } from './toxiproxy.ts'

export const TOPIC = { topic: 'plants', partitions: 12 }
/** Longer than the pauses that should pass for a slow network, shorter than the pauses that should not. */
const DOWN_AFTER_MS = 2_000
const TOPIC_PATIENCE = { everyMs: 200, giveUpAfterMs: 60_000 }
/** The exit code of a service that needs a person; it is not started again. */
const HALTED = 78
const RESTART_AFTER_MS = 1_000

export type Cluster = Awaited<ReturnType<typeof startCluster>>

type Places = Pick<MemberOptions, 'onUnexpectedEnd'> & { dataDir: string; logDir: string }

/**
 * The cluster that production has, as processes of this machine: three brokers, a Redis with two replicas and three
 * sentinels or a Redis Cluster, two apis, two projectors, and a consumer of each kind of first claims. Every connection
 * passes toxiproxy. Services and consumers are not started yet. `dir` belongs to this cluster alone. `onEnd` is called
 * when a process ends by itself; it is started again, as an orchestrator would.
 */
export async function startCluster({
  dir,
  onEnd,
  ...variant
}: Variant & { dir: string; onEnd: MemberOptions['onUnexpectedEnd'] }) {
  let isEnding = false
  const places: Places = {
    logDir: join(dir, 'logs'),
    dataDir: join(dir, 'data'),
    onUnexpectedEnd(member, exit) {
      if (isEnding) return
      onEnd(member, exit)
      if (exit.code !== HALTED) setTimeout(() => void member.start().catch(() => undefined), RESTART_AFTER_MS)
    },
  }
  for (const folder of [places.logDir, places.dataDir]) mkdirSync(folder, { recursive: true })
  onEachStart((running) => {
    // The start of another one has failed in the meantime.
    if (isEnding) void running.stop({ graceMs: 0 })
  })

  /** Ends all processes at once. */
  async function end(): Promise<void> {
    isEnding = true
    await Promise.all(livingProcesses().map((running) => running.stop({ graceMs: 0 })))
  }
  try {
    return { ...(await startMembers(places, variant)), end }
  } catch (error) {
    await end()
    throw error
  }
}

async function startMembers(places: Places, { redis: redisKind, bug, former }: Variant) {
  const toxiproxy = await startToxiproxy(places.logDir)
  const [program, redisServer] = [await ensureKafka(), await ensureRedis()]
  // Both start, or have failed, before `end` stops what runs.
  const [kafka, redis] = await sideBySide(
    new AbortController().signal,
    () =>
      startKafka({
        ...{ ...places, dir: join(places.dataDir, 'kafka'), ...program, toxiproxy },
        clients: [...APIS, ...PROJECTORS, CONSUMERS],
      }),
    () => startRedis(toxiproxy, { redisKind, redisServer }, places),
  )
  const admin = createKafka(kafka.brokers.split(','), 'chaos', quietLog)
  await untilBrokersAreKnown(kafka.brokers)
  const table = { ...TOPIC, topic: tableTopicOf(TOPIC) }
  for (const prepare of [createTopic, checkTopic]) {
    await retry<unknown>(() => prepare(admin, TOPIC), TOPIC_PATIENCE)
    await retry<unknown>(() => prepare(admin, table, TABLE), TOPIC_PATIENCE)
  }

  const settings = {
    ...redis.settings,
    PLANTS_TOPIC: TOPIC.topic,
    PLANTS_PARTITIONS: String(TOPIC.partitions),
    PLANTS_TABLE: table.topic,
  }
  const options = { ...places, settings, brokersOf: kafka.brokersOf, topic: TOPIC.topic, bug, former }
  const apis = await createApis(toxiproxy, options)
  const projectors = await createProjectors(options)
  return {
    ...{ brokers: kafka.nodes, redisServers: redis.servers, sentinels: redis.sentinels, apis, projectors, admin },
    logDir: places.logDir,
    hasTwoReleases: former !== undefined,
    consumers: createConsumers(options),
    services: [...apis, ...projectors],
    // Sorted, so that a seed draws the same ones: they are opened concurrently.
    links: [...kafka.links, ...redis.links, ...apis.map(({ link }) => link)].sort((a, b) => (a.name < b.name ? -1 : 1)),

    /** The broker that leads each partition of the log, as soon as each has one. */
    findLeaders(): Promise<Member[]> {
      return retry(async () => {
        const { topics } = await withAdmin(admin, (admin) => admin.fetchTopicMetadata({ topics: [TOPIC.topic] }))
        const found = new Map(topics[0]?.partitions.map(({ partitionId, leader }) => [partitionId, leader]))
        return Array.from({ length: TOPIC.partitions }, (_, n) => {
          // The nodes have the ids 1, 2 and 3.
          const node = kafka.nodes[(found.get(n) ?? 0) - 1]
          if (node === undefined) throw new Error(`partition ${n} has no leader`)
          return node
        })
      }, TOPIC_PATIENCE)
    },

    /** A run of plantctl, directly at the brokers. */
    plantctl: (...args: string[]) =>
      startPlantctl(args, { PATH: process.env.PATH, ...settings, KAFKA_BROKERS: kafka.brokers }).ended,
  }
}

/** All others share the link to a server, because its address is what sentinels and nodes know. */
async function startRedis(
  toxiproxy: Toxiproxy,
  { redisKind, redisServer }: { redisKind: Variant['redis']; redisServer: string },
  { dataDir, onUnexpectedEnd, ...places }: Places,
) {
  const links: Link[] = []
  async function reachedAt(name: string, port: number): Promise<number> {
    const link = await toxiproxy.link(`all>${name}`, port)
    links.push(link)
    return link.port
  }
  const memberOf = (server: RunningServer) => ({
    ...createMember({ name: server.name, running: server, start: server.start, onUnexpectedEnd }),
    port: server.port,
  })
  const options = { ...places, dir: join(dataDir, 'redis'), redisServer, reachedAt }
  if (redisKind === 'cluster') {
    const { nodes, addresses } = await startClusterNodes(options)
    return { links, servers: nodes.map(memberOf), sentinels: [], settings: { REDIS_CLUSTER_NODES: addresses } }
  }
  const { servers, sentinels, addresses, name } = await startSentinels({ ...options, downAfterMs: DOWN_AFTER_MS })
  return {
    links,
    servers: servers.map(memberOf),
    sentinels: sentinels.map(memberOf),
    settings: { REDIS_SENTINELS: addresses, REDIS_SENTINEL_NAME: name },
  }
}
