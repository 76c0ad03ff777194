import { resolve } from 'node:path'
import { root } from '../places.mjs'
import { Failure } from '../processes/failure.mjs'
import { tokenPattern, tokenRule } from './token.mjs'

/**
 * @typedef {'docker' | 'processes'} Source
 *
 * @typedef {object} Settings
 * @property {number} port
 * @property {string} host
 * @property {boolean} https whether the apis speak HTTPS
 * @property {number} opsPort of the api; the other services' are the next ones
 * @property {number} kafkaPort of the first broker that is started; its other ports and brokers have the next ones
 * @property {number} redisPort of the first Redis that is started; other servers and sentinels have the next ones
 * @property {boolean} cluster whether the stores are replicated and secured, with two of each service
 * @property {string} topic
 * @property {number} partitions
 * @property {string} table the topic of the table, `on` for the topic's name with .table, or `off`
 * @property {string | undefined} token
 * @property {Source | undefined} source where the Kafka and Redis that are started come from; undefined: Docker
 *   when it serves, else processes
 * @property {boolean} hasKafka whether the environment names a Kafka that runs elsewhere; else one is started
 * @property {boolean} hasRedis the same of Redis
 * @property {string} localDir data, logs, token and run.json, as an absolute path
 */

const DEFAULT_PORTS = { PORT: 3000, OPS_PORT: 3100, KAFKA_PORT: 19_092, REDIS_PORT: 16_379 }
const MAX_PORT = 65_535
/** A broker of a cluster has a port for clients, brokers and controllers each. */
const CLUSTER = { kafkaPorts: 9, redisPorts: 6 }
/** The controller of the only broker has a port as well. */
const SINGLE = { kafkaPorts: 2, redisPorts: 1 }

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {{ with?: string, cluster?: boolean, port?: string }} [options] of the command line. with: docker, processes or
 *   external; port: the api's, by which the defaults of all other ports move as well
 * @returns {Settings}
 * @throws {Failure} that names each setting with a bad value
 */
export function readSettings(env, { with: stores, cluster = false, port: first } = {}) {
  const { HOST, PLANTS_TOPIC, PLANTS_PARTITIONS, PLANTS_TABLE } = env
  const { PLANT_STORE_TOKEN } = env
  /** @type {string[]} */
  const wrong = []
  /** @param {string} name @param {string} value @param {string} expected @param {boolean} isRight */
  const check = (name, value, expected, isRight) => {
    const shown = name === 'PLANT_STORE_TOKEN' ? '…' : value
    if (!isRight) wrong.push(`${name}=${shown}: expected ${expected}`)
    return value
  }
  /** @param {string} name @param {string} value @param {number} max */
  const number = (name, value, max) =>
    Number(check(name, value, `a whole number from 1 to ${max}`, /^\d{1,9}$/.test(value) && within(value, max)))
  /** @param {string} name @param {string} value @param {string} expected @param {RegExp} pattern */
  const text = (name, value, expected, pattern) => check(name, value, expected, pattern.test(value))
  const distance = first === undefined ? 0 : number('--port', first, MAX_PORT) - DEFAULT_PORTS.PORT
  /** @param {keyof typeof DEFAULT_PORTS} name @param {number} [count] of ports in a row */
  const portOf = (name, count = 1) => {
    const chosen = first !== undefined && name === 'PORT' ? first : env[name]
    return number(name, chosen || String(DEFAULT_PORTS[name] + distance), MAX_PORT + 1 - count)
  }
  const { kafkaPorts, redisPorts } = cluster ? CLUSTER : SINGLE

  const settings = {
    port: portOf('PORT'),
    host: text('HOST', HOST || '127.0.0.1', 'an address to listen on, such as 127.0.0.1', /^[\w.:-]+$/),
    https: Boolean(env.HTTP_TLS_CERT_FILE),
    opsPort: portOf('OPS_PORT', 2),
    kafkaPort: portOf('KAFKA_PORT', kafkaPorts),
    redisPort: portOf('REDIS_PORT', redisPorts),
    topic: text('PLANTS_TOPIC', PLANTS_TOPIC || 'plants', 'a Kafka topic name', /^[\w.-]{1,249}$/),
    partitions: number('PLANTS_PARTITIONS', PLANTS_PARTITIONS || '12', 1000),
    table: text('PLANTS_TABLE', PLANTS_TABLE || 'on', 'on, off or a Kafka topic name', /^[\w.-]{1,249}$/),
    token: PLANT_STORE_TOKEN && text('PLANT_STORE_TOKEN', PLANT_STORE_TOKEN, tokenRule, tokenPattern),
    localDir: localDirOf(env),
    cluster,
    ...(cluster ? clusterOf(stores, wrong) : storesOf(env, stores, wrong)),
  }
  const ports = new Map()
  for (const { port, what } of portsOf(settings)) {
    if (ports.has(port)) wrong.push(`${port} is the port of both ${ports.get(port)} and ${what}`)
    ports.set(port, what)
  }
  if (wrong.length > 0) throw new Failure(`Invalid settings:\n  ${wrong.join('\n  ')}`)
  return settings
}

/**
 * The folder of `npm start`: its data, logs and `run.json`.
 *
 * @param {NodeJS.ProcessEnv} env
 */
export const localDirOf = ({ PLANT_STORE_LOCAL_DIR }) => resolve(root, PLANT_STORE_LOCAL_DIR || '.local')

/**
 * @typedef {'api' | 'projector'} ServiceKind
 *
 * A process of a service. Only an api has a `port` besides `opsPort`.
 * @typedef {{ name: string, kind: ServiceKind, port?: number, opsPort: number }} Service
 *
 * @param {Pick<Settings, 'port' | 'opsPort' | 'cluster'>} settings
 * @returns {Service[]}
 */
export function servicesOf({ port, opsPort, cluster }) {
  /** @type {Service[]} */
  const one = [
    { name: 'api', kind: 'api', port, opsPort },
    { name: 'projector', kind: 'projector', opsPort: opsPort + 1 },
  ]
  if (!cluster) return one
  return [
    ...one,
    { name: 'api-2', kind: 'api', port: port + 1, opsPort: opsPort + 2 },
    { name: 'projector-2', kind: 'projector', opsPort: opsPort + 3 },
  ]
}

/**
 * @param {Settings} settings
 * @returns {{ port: number, host: string, what: string, setting: string }[]} every port that is listened on
 */
export function portsOf(settings) {
  const { host, cluster, hasKafka, hasRedis, kafkaPort, redisPort } = settings
  const { kafkaPorts, redisPorts } = cluster ? CLUSTER : SINGLE
  const storePorts = (/** @type {number} */ first, /** @type {number} */ count, /** @type {string} */ what) =>
    Array.from({ length: count }, (_, n) => ({
      ...{ port: first + n, host: '127.0.0.1', what },
      setting: `${what.toUpperCase()}_PORT`,
    }))
  return [
    ...servicesOf(settings).flatMap(({ name, port, opsPort }) => [
      ...(port === undefined ? [] : [{ port, host, what: `the ${name}`, setting: 'PORT' }]),
      { port: opsPort, host, what: `the operations of the ${name}`, setting: 'OPS_PORT' },
    ]),
    ...storePorts(kafkaPort, hasKafka ? 0 : kafkaPorts, 'Kafka'),
    ...storePorts(redisPort, hasRedis ? 0 : redisPorts, 'Redis'),
  ]
}

/**
 * @param {Settings} settings
 * @returns {{ url: string, urls: string[], opsUrls: Record<string, string> }} where to reach the services from this
 *   machine: the first api, all apis, and the operations ports by service
 */
export function urlsOf(settings) {
  const { host, https } = settings
  // A client cannot connect to the address that means every address.
  const everywhere = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host]
  const name = everywhere ?? host
  const address = name.includes(':') ? `[${name}]` : name
  const urlOf = (/** @type {number} */ port) => `${https ? 'https' : 'http'}://${address}:${port}`
  const services = servicesOf(settings)
  return {
    url: urlOf(settings.port),
    urls: services.flatMap(({ port }) => (port === undefined ? [] : [urlOf(port)])),
    opsUrls: Object.fromEntries(services.map(({ name, opsPort }) => [name, `http://${address}:${opsPort}`])),
  }
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string | undefined} stores
 * @param {string[]} wrong
 * @returns {Pick<Settings, 'source' | 'hasKafka' | 'hasRedis'>}
 */
function storesOf(env, stores, wrong) {
  // An explicit choice overrides the environment.
  if (stores === 'docker' || stores === 'processes') {
    return { source: stores, hasKafka: false, hasRedis: false }
  }
  if (stores !== undefined && stores !== 'external') {
    wrong.push(`--with ${stores}: expected docker, processes or external`)
  }
  const [hasKafka, hasRedis] = [Boolean(env.KAFKA_BROKERS), namesRedis(env)]
  if (stores === 'external' && !(hasKafka && hasRedis)) {
    wrong.push('--with external: set KAFKA_BROKERS and REDIS_URL to a Kafka and a Redis that run elsewhere')
  }
  return { source: undefined, hasKafka, hasRedis }
}

/**
 * @param {string | undefined} stores
 * @param {string[]} wrong
 * @returns {Pick<Settings, 'source' | 'hasKafka' | 'hasRedis'>}
 */
function clusterOf(stores, wrong) {
  if (stores !== undefined && stores !== 'processes') {
    wrong.push(`--cluster --with ${stores}: a cluster runs as processes; docker-compose.cluster.yml is one in Docker`)
  }
  return { source: 'processes', hasKafka: false, hasRedis: false }
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {boolean}
 */
export const namesRedis = ({ REDIS_URL, REDIS_SENTINELS, REDIS_CLUSTER_NODES }) =>
  Boolean(REDIS_URL || REDIS_SENTINELS || REDIS_CLUSTER_NODES)

/** @param {string} value @param {number} max */
const within = (value, max) => Number(value) >= 1 && Number(value) <= max
