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
 * @property {number} opsPort of the api; the projector's is the next one
 * @property {string} topic
 * @property {number} partitions
 * @property {string | undefined} token
 * @property {Source | undefined} source where the Kafka and Redis that are started come from; undefined: Docker
 *   when it serves, else processes
 * @property {string | undefined} kafkaBrokers a Kafka that runs elsewhere; without it one is started
 * @property {string | undefined} redisUrl a Redis that runs elsewhere; without it one is started
 * @property {string} localDir data, logs, token and run.json, as an absolute path
 */

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string} [stores] the value of `--with`: docker, processes or external
 * @returns {Settings}
 * @throws {Failure} that names each setting with a bad value
 */
export function readSettings(env, stores) {
  const { PORT, HOST, OPS_PORT, PLANTS_TOPIC, PLANTS_PARTITIONS } = env
  const { PLANT_STORE_TOKEN, PLANT_STORE_LOCAL_DIR } = env
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

  const settings = {
    port: number('PORT', PORT || '3000', 65_535),
    host: text('HOST', HOST || '127.0.0.1', 'an address to listen on, such as 127.0.0.1', /^[\w.:-]+$/),
    opsPort: number('OPS_PORT', OPS_PORT || '3100', 65_534),
    topic: text('PLANTS_TOPIC', PLANTS_TOPIC || 'plants', 'a Kafka topic name', /^[\w.-]{1,249}$/),
    partitions: number('PLANTS_PARTITIONS', PLANTS_PARTITIONS || '12', 1000),
    token: PLANT_STORE_TOKEN && text('PLANT_STORE_TOKEN', PLANT_STORE_TOKEN, tokenRule, tokenPattern),
    localDir: resolve(root, PLANT_STORE_LOCAL_DIR || '.local'),
    ...storesOf(env, stores, wrong),
  }
  if (settings.port === settings.opsPort || settings.port === settings.opsPort + 1) {
    wrong.push(`OPS_PORT=${settings.opsPort}: it and the next port must differ from PORT=${settings.port}`)
  }
  if (wrong.length > 0) throw new Failure(`Invalid settings:\n  ${wrong.join('\n  ')}`)
  return settings
}

/**
 * @param {Settings} settings
 * @returns {{ url: string, opsUrls: { api: string, projector: string } }} where to reach the services from
 *   this machine
 */
export function urlsOf({ host, port, opsPort }) {
  // A client cannot connect to the address that means every address.
  const everywhere = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host]
  const name = everywhere ?? host
  const base = `http://${name.includes(':') ? `[${name}]` : name}`
  return {
    url: `${base}:${port}`,
    opsUrls: { api: `${base}:${opsPort}`, projector: `${base}:${opsPort + 1}` },
  }
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string | undefined} stores
 * @param {string[]} wrong
 * @returns {Pick<Settings, 'source' | 'kafkaBrokers' | 'redisUrl'>}
 */
function storesOf({ KAFKA_BROKERS, REDIS_URL }, stores, wrong) {
  // An explicit choice overrides the environment.
  if (stores === 'docker' || stores === 'processes') {
    return { source: stores, kafkaBrokers: undefined, redisUrl: undefined }
  }
  if (stores !== undefined && stores !== 'external') {
    wrong.push(`--with ${stores}: expected docker, processes or external`)
  }
  if (stores === 'external' && !(KAFKA_BROKERS && REDIS_URL)) {
    wrong.push('--with external: set KAFKA_BROKERS and REDIS_URL to a Kafka and a Redis that run elsewhere')
  }
  if (KAFKA_BROKERS && !brokers.test(KAFKA_BROKERS)) {
    wrong.push(`KAFKA_BROKERS=${KAFKA_BROKERS}: expected host:port,host:port`)
  }
  // Its value is not shown: it may hold a password.
  if (REDIS_URL && !redis.test(REDIS_URL)) {
    wrong.push('REDIS_URL: expected redis://host:port or rediss://…')
  }
  return { source: undefined, kafkaBrokers: KAFKA_BROKERS || undefined, redisUrl: REDIS_URL || undefined }
}

const redis = /^rediss?:\/\/\S+$/
const brokers = /^[^\s,:]+:\d{1,5}(,[^\s,:]+:\d{1,5})*$/

/** @param {string} value @param {number} max */
const within = (value, max) => Number(value) >= 1 && Number(value) <= max
