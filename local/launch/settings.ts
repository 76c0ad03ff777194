import { resolve } from 'node:path'
import { readSettings as read } from '@plant-store/shared/runtime/settings.ts'
import { SERVICE_SETTINGS } from '@plant-store/shared/stores/store-settings.ts'
import { type Static, type TObject, Type } from 'typebox'
import { root } from '../places.mjs'
import { Failure } from '../processes/failure.mjs'
import { TOKEN_PATTERN, TOKEN_RULE } from './token.ts'

export type Settings = ReturnType<typeof readSettings>

/** Options of the command line. with: docker, processes or external; port: the api's, all other defaults move as far. */
type Options = { with?: string | undefined; cluster?: boolean | undefined; port?: string | undefined }

const FIRST_PORTS = { PORT: 3000, OPS_PORT: 3100, KAFKA_PORT: 19_092, REDIS_PORT: 16_379 }
/** The number of ports in a row. A controller has one as well. */
const SINGLE = { PORT: 1, OPS_PORT: 2, KAFKA_PORT: 2, REDIS_PORT: 1 }
/** A broker of a cluster has a port for clients, brokers and controllers each. */
const CLUSTER = { PORT: 2, OPS_PORT: 4, KAFKA_PORT: 9, REDIS_PORT: 6 }
const Port = (inARow = 1) => Type.Integer({ minimum: 1, maximum: 65_536 - inARow })
const HOST = { pattern: '^[\\w.:-]+$', expected: 'an address to listen on, such as 127.0.0.1' }
const TOKEN = { pattern: TOKEN_PATTERN.source, expected: TOKEN_RULE, secret: true }

/** Throws a Failure that names each setting with a bad value. */
export function readSettings(env: NodeJS.ProcessEnv, options: Options = {}) {
  const { with: stores, cluster = false, port } = options
  const { PLANTS_TOPIC, PLANTS_PARTITIONS, PLANTS_TABLE } = SERVICE_SETTINGS
  const counts = cluster ? CLUSTER : SINGLE
  const Schema = Type.Object({
    PORT: Port(counts.PORT),
    OPS_PORT: Port(counts.OPS_PORT),
    KAFKA_PORT: Port(counts.KAFKA_PORT),
    REDIS_PORT: Port(counts.REDIS_PORT),
    ...{ HOST: Type.String(HOST), PLANTS_TOPIC, PLANTS_PARTITIONS, PLANTS_TABLE },
    PLANT_STORE_TOKEN: Type.Optional(Type.String(TOKEN)),
  })
  const { '--port': first } = valid(Type.Object({ '--port': Port() }), { '--port': port ?? String(FIRST_PORTS.PORT) })
  const moved = Object.entries(FIRST_PORTS).map(([name, at]) => [name, String(at + first - FIRST_PORTS.PORT)])
  const given = Object.entries(env).filter(([name, value]) => value && !(name === 'PORT' && port))
  const defaults = { HOST: '127.0.0.1', PLANTS_TABLE: 'on', ...Object.fromEntries(moved) }
  const found = valid(Schema, { ...defaults, ...Object.fromEntries(given) })
  const settings = {
    port: found.PORT,
    host: found.HOST,
    https: Boolean(env.HTTP_TLS_CERT_FILE),
    /** The first port of the api, of the operations, of Kafka and of Redis; further ones are the next ones. */
    opsPort: found.OPS_PORT,
    kafkaPort: found.KAFKA_PORT,
    redisPort: found.REDIS_PORT,
    /** True if the stores are replicated and secured, with two of each service. */
    cluster,
    topic: found.PLANTS_TOPIC,
    partitions: found.PLANTS_PARTITIONS,
    /** The topic of the table, `on` for the topic's name with .table, or `off`. */
    table: found.PLANTS_TABLE,
    token: found.PLANT_STORE_TOKEN,
    /** Data, logs, token and run.json, as an absolute path. */
    localDir: localDirOf(env),
    ...choose(env, stores, cluster),
  }
  if (env.PLANT_STORE_TOKEN_DIGESTS_FILE)
    throw new Failure(
      'PLANT_STORE_TOKEN_DIGESTS_FILE: npm start adds its own token, and takes others from PLANT_STORE_TOKEN_DIGESTS',
    )
  const taken = new Map<number, string>()
  for (const { port, what } of portsOf(settings)) {
    if (taken.has(port)) throw new Failure(`${port} is the port of both ${taken.get(port)} and ${what}`)
    taken.set(port, what)
  }
  return settings
}

function valid<T extends TObject>(schema: T, env: NodeJS.ProcessEnv): Static<T> {
  try {
    return read(schema, env)
  } catch (error) {
    throw new Failure((error as Error).message)
  }
}

/** The folder of `npm start`: its data, logs and `run.json`. */
export const localDirOf = (env: NodeJS.ProcessEnv) => resolve(root, env.PLANT_STORE_LOCAL_DIR || '.local')

export type ServiceKind = 'api' | 'projector'
/** A process of a service. Only an api has a `port` besides `opsPort`. */
export type Service = { name: string; kind: ServiceKind; port?: number; opsPort: number }

export function servicesOf({ port, opsPort, cluster }: Pick<Settings, 'port' | 'opsPort' | 'cluster'>): Service[] {
  const services: Service[] = [
    { name: 'api', kind: 'api', port, opsPort },
    { name: 'projector', kind: 'projector', opsPort: opsPort + 1 },
    { name: 'api-2', kind: 'api', port: port + 1, opsPort: opsPort + 2 },
    { name: 'projector-2', kind: 'projector', opsPort: opsPort + 3 },
  ]
  return cluster ? services : services.slice(0, 2)
}

/** Every port that is listened on. */
export function portsOf(settings: Settings): { port: number; host: string; what: string; setting: string }[] {
  const { host, cluster, hasKafka, hasRedis, kafkaPort, redisPort } = settings
  const counts = cluster ? CLUSTER : SINGLE
  const inARow = (setting: 'KAFKA_PORT' | 'REDIS_PORT', what: string, first: number) =>
    Array.from({ length: counts[setting] }, (_, n) => ({ port: first + n, host: '127.0.0.1', what, setting }))
  return [
    ...servicesOf(settings).flatMap(({ name, port, opsPort }) => [
      ...(port === undefined ? [] : [{ port, host, what: `the ${name}`, setting: 'PORT' }]),
      { port: opsPort, host, what: `the operations of the ${name}`, setting: 'OPS_PORT' },
    ]),
    ...(hasKafka ? [] : inARow('KAFKA_PORT', 'Kafka', kafkaPort)),
    ...(hasRedis ? [] : inARow('REDIS_PORT', 'Redis', redisPort)),
  ]
}

/** Where to reach the services from this machine: the first api, all apis, and the operations ports by service. */
export function urlsOf(settings: Settings): { url: string; urls: string[]; opsUrls: Record<string, string> } {
  const { host, https, port } = settings
  // A client cannot connect to the address that means every address.
  const name = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
  const address = name.includes(':') ? `[${name}]` : name
  const urlOf = (port: number) => `${https ? 'https' : 'http'}://${address}:${port}`
  const services = servicesOf(settings)
  return {
    url: urlOf(port),
    urls: services.flatMap(({ port }) => (port === undefined ? [] : [urlOf(port)])),
    opsUrls: Object.fromEntries(services.map(({ name, opsPort }) => [name, `http://${address}:${opsPort}`])),
  }
}

/**
 * The source of the Kafka and Redis that are started (undefined: Docker when it serves, else processes), and whether
 * the environment names a Kafka and a Redis that run elsewhere, which an explicit choice overrides.
 */
function choose(env: NodeJS.ProcessEnv, stores: string | undefined, cluster: boolean) {
  if (stores !== undefined && !['docker', 'processes', 'external'].includes(stores))
    throw new Failure(`--with ${stores}: expected docker, processes or external`)
  const source = cluster ? (stores ?? 'processes') : stores
  if (cluster && source !== 'processes')
    throw new Failure(
      `--cluster --with ${stores}: a cluster runs as processes; docker-compose.cluster.yml is one in Docker`,
    )
  if (source === 'docker' || source === 'processes') return { source, hasKafka: false, hasRedis: false } as const
  const [hasKafka, hasRedis] = [Boolean(env.KAFKA_BROKERS), namesRedis(env)]
  if (source === 'external' && !(hasKafka && hasRedis))
    throw new Failure('--with external: set KAFKA_BROKERS and REDIS_URL to a Kafka and a Redis that run elsewhere')
  return { source: undefined, hasKafka, hasRedis }
}

export const namesRedis = ({ REDIS_URL, REDIS_SENTINELS, REDIS_CLUSTER_NODES }: NodeJS.ProcessEnv) =>
  Boolean(REDIS_URL || REDIS_SENTINELS || REDIS_CLUSTER_NODES)
