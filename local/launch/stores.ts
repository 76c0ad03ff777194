import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../processes/failure.mjs'
import type { RunningProcess } from '../processes/process.ts'
import { sideBySide } from '../processes/side-by-side.ts'
import { writeWhole } from '../processes/whole-file.ts'
import { pullMissingImages, removeContainers, type Store, startContainers, whyNoDocker } from '../stores/docker.ts'
import { ensureKafka, ensureRedis, type KafkaProgram } from '../stores/jars.ts'
import { startKafka } from '../stores/kafka.ts'
import { startKafkaCluster } from '../stores/kafka-cluster.ts'
import { startRedis } from '../stores/redis.ts'
import { startSentinels } from '../stores/redis-sentinels.ts'
import { say, step } from './progress.ts'
import { namesOf, type StoreUser } from './run-file.ts'
import type { Settings } from './settings.ts'
import type { StartedRecord } from './started-record.ts'
import type { Start } from './supervisor.ts'
import { storedSecret } from './token.ts'

const CLUSTER_TIMEOUT_MS = 120_000
/** The users of Kafka: `admin` may do everything. */
const USERS = ['admin', 'api', 'projector', 'plantctl']

export type Launch = {
  settings: Settings
  token: string
  /** Called with each ready process, and with the function that restarts it. */
  keep(running: RunningProcess, start: Start): void
  started: StartedRecord
}

type Programs = KafkaProgram & { redisServer: string }

/** A program that uses the stores. If the stores have users, each program has the rights that it needs. */
type Role = 'setup' | StoreUser

export type Stores = {
  settingsOf(role: Role): Record<string, string>
  /** The compose project of their containers. */
  dockerProject?: string
}

/**
 * Chooses the source of Kafka and Redis, installs the programs or images, and starts them. The choice in the settings
 * counts; without one, stores that do not run elsewhere are started in Docker if it is available, else as processes.
 * Throws a Failure that says what to install.
 */
export async function startStores(launch: Launch, signal: AbortSignal): Promise<Stores> {
  const { settings, started } = launch
  const { cluster, hasKafka, hasRedis, kafkaPort, redisPort } = settings
  const open = { settingsOf: () => addressesOf(settings) }
  if (hasKafka && hasRedis) return open
  if (await takesDocker(settings, signal)) {
    noteSource(settings, 'docker')
    // The containers end with the launcher.
    const dockerProject = projectOf(settings.localDir)
    started.addContainers(dockerProject)
    const ports = { ...(!hasKafka && { kafka: kafkaPort }), ...(!hasRedis && { redis: redisPort }) }
    await step('Kafka and Redis in Docker', () => startContainers(dockerProject, ports, signal))
    return { ...open, dockerProject }
  }
  const programs = await step('Programs of Kafka and Redis', async () => ({
    ...(hasKafka ? { java: '', classpath: '' } : await ensureKafka(signal)),
    redisServer: hasRedis ? '' : await ensureRedis(signal),
  }))
  if (cluster) return startCluster(launch, programs, signal)
  noteSource(settings, 'processes')
  await startAsProcesses(launch, programs, signal)
  return open
}

/** Throws a Failure when Docker is required and cannot be used. */
async function takesDocker({ source }: Settings, signal: AbortSignal): Promise<boolean> {
  if (source === 'processes') return false
  const obstacle =
    (await whyNoDocker(signal)) ?? (await step('Images of Kafka and Redis', () => pullMissingImages(signal)))
  if (obstacle === undefined) return true
  if (source === 'docker') throw new Failure(`--with docker: ${obstacle}. --with processes needs no Docker.`)
  say(`  Kafka and Redis run as processes: ${obstacle}.`)
  return false
}

/** Containers and processes have separate data: warns when this start will not see the plants of the last one. */
function noteSource({ localDir }: Settings, source: 'docker' | 'processes'): void {
  const file = join(localDir, 'data', 'source')
  const last = existsSync(file) ? readFileSync(file, 'utf8').trim() : source
  if (last !== source) say(`! The plants of the last start are in other stores: --with ${last} has them.`)
  writeWhole(file, `${source}\n`)
}

/** Stores that are started here need no login. For the others the environment has the settings. */
const addressesOf = ({ hasKafka, hasRedis, kafkaPort, redisPort }: Settings): Record<string, string> => ({
  ...(hasKafka ? inEnvironment(/^KAFKA_/) : { KAFKA_BROKERS: `127.0.0.1:${kafkaPort}` }),
  ...(hasRedis ? inEnvironment(/^REDIS_/) : { REDIS_URL: `redis://127.0.0.1:${redisPort}` }),
})

const inEnvironment = (names: RegExp) =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => names.test(name))) as Record<string, string>

/** The environment of a program: that of this process, but with the settings of these stores and no others. */
export const environmentFor = (stores: Stores, settings: Settings, role: Role): NodeJS.ProcessEnv => ({
  ...inEnvironment(/^(?!KAFKA_|REDIS_)/),
  ...stores.settingsOf(role),
  ...namesOf(settings),
})

/** The name of the compose project of a local folder, which is also in the names of its volumes. */
export const projectOf = (localDir: string) =>
  `plant-store-${createHash('sha256').update(localDir).digest('hex').slice(0, 8)}`

/** Kafka and Redis as processes of this machine, with their data in the local folder. */
async function startAsProcesses({ settings, keep }: Launch, programs: Programs, signal: AbortSignal): Promise<void> {
  const { hasKafka, hasRedis, kafkaPort, redisPort, localDir } = settings
  const { redisServer, ...program } = programs
  const places = (name: Store) => ({
    dir: join(localDir, 'data', name),
    logFile: join(localDir, 'logs', `${name}.log`),
  })
  const kafka = { ...places('kafka'), port: kafkaPort, controllerPort: kafkaPort + 1, ...program }
  const redis = { ...places('redis'), port: redisPort, appendOnly: true, redisServer }
  const bringUp = (label: string, start: Start) => async (signal: AbortSignal) =>
    keep(await step(label, () => start(signal)), start)
  await sideBySide(
    signal,
    ...(hasKafka ? [] : [bringUp('Kafka', (signal) => startKafka({ ...kafka, signal }))]),
    ...(hasRedis ? [] : [bringUp('Redis', (signal) => startRedis({ ...redis, signal }))]),
  )
}

/**
 * The stores as production has them, as processes with their data in the local folder: three brokers with TLS,
 * passwords and ACLs; a Redis with two replicas and three sentinels.
 */
async function startCluster({ settings, keep }: Launch, programs: Programs, signal: AbortSignal): Promise<Stores> {
  const { redisServer, ...program } = programs
  const dir = join(settings.localDir, 'data', 'cluster')
  const secretOf = (user: string) => join(dir, 'passwords', user)
  const passwords = Object.fromEntries(USERS.map((user) => [user, storedSecret(secretOf(user))]))
  const optionsOf = (name: Store, port: number) => ({
    ...{ dir: join(dir, name), logDir: join(settings.localDir, 'logs'), startTimeoutMs: CLUSTER_TIMEOUT_MS },
    nextPort: () => port++,
  })
  const kafkaOptions = { ...optionsOf('kafka', settings.kafkaPort), ...program, passwords }
  const redisOptions = { ...optionsOf('redis', settings.redisPort), redisServer, appendOnly: true }
  const [kafka, redis] = await sideBySide(
    signal,
    (signal) => step('Kafka, three brokers', () => startKafkaCluster({ ...kafkaOptions, signal })),
    (signal) => step('Redis, two replicas and three sentinels', () => startSentinels({ ...redisOptions, signal })),
  )
  for (const process of [...kafka.nodes, ...redis.servers, ...redis.sentinels]) keep(process, process.start)
  return {
    settingsOf(role) {
      const user = role === 'setup' ? 'admin' : role
      return {
        KAFKA_BROKERS: kafka.brokers,
        KAFKA_SECURITY_PROTOCOL: 'SASL_SSL',
        KAFKA_SSL_CA_FILE: kafka.caFile,
        KAFKA_SASL_MECHANISM: kafka.mechanism,
        KAFKA_SASL_USERNAME: user,
        KAFKA_SASL_PASSWORD_FILE: secretOf(user),
        REDIS_SENTINELS: redis.addresses,
        REDIS_SENTINEL_NAME: redis.name,
      }
    },
  }
}

/** Deletes the plants of this local folder: those of processes and those of containers. */
export async function forget({ localDir, hasKafka, hasRedis }: Settings): Promise<void> {
  const data = join(localDir, 'data')
  rmSync(data, { recursive: true, force: true })
  say(`Deleted the plants in ${data}; the token stays.`)
  const obstacle = await whyNoDocker()
  if (obstacle === undefined)
    await step('Deleting the plants in Docker', () => removeContainers(projectOf(localDir), '--volumes'))
  else say(`Not deleted: plants in Docker, if any (${obstacle}).`)
  const elsewhere = [hasKafka && 'KAFKA_BROKERS', hasRedis && 'REDIS_URL'].filter(Boolean)
  if (elsewhere.length > 0) say(`Not deleted: the data at ${elsewhere.join(' and ')}.`)
}
