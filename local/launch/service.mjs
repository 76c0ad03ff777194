import { join } from 'node:path'
import { root } from '../places.mjs'
import { startProcess, untilReady } from '../processes/process.mjs'
import { digestOf } from './token.mjs'

/**
 * @typedef {'api' | 'projector'} ServiceName
 * @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess
 *
 * The environment of the services.
 * @typedef {object} Environment
 * @property {string} node
 * @property {import('./settings.mjs').Settings} settings
 * @property {string} kafkaBrokers
 * @property {string} redisUrl
 * @property {string} token
 */

/**
 * V8 allocates objects directly in the old generation when many from the same place have once survived a scavenge. The
 * objects of requests do so while 256 are in flight. From then on each scavenge copies what they refer to, dead objects
 * included, and takes 20 ms instead of 1. The Dockerfile sets the same option.
 */
export const API_NODE_OPTIONS = ['--no-allocation-site-pretenuring']

/**
 * @param {ServiceName} name
 * @returns {string[]} Node's own options, and the program
 */
export const argumentsOf = (name) => [
  ...(name === 'api' ? API_NODE_OPTIONS : []),
  join(root, 'services', name, 'src', 'main.ts'),
]

/**
 * @param {ServiceName} name
 * @param {Environment} environment
 * @returns {Promise<RunningProcess>} at once, before it is ready
 */
export function startService(name, environment) {
  const logFile = join(environment.settings.localDir, 'logs', `${name}.log`)
  const env = environmentOf(name, environment)
  return startProcess({ name, command: environment.node, args: argumentsOf(name), cwd: root, env, logFile })
}

/**
 * @param {RunningProcess} running
 * @param {string} opsUrl
 * @param {{ startTimeoutMs: number, signal: AbortSignal }} options
 */
export async function untilServiceReady(running, opsUrl, { startTimeoutMs, signal }) {
  let lastResponse = 'its operations port does not respond'
  const isReady = async () => {
    try {
      const response = await fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(2000) })
      lastResponse = `/readyz responds with ${(await response.text()).trim()}`
      return response.status === 200
    } catch {
      return false
    }
  }
  await untilReady(running, { isReady, startTimeoutMs, signal, why: () => ` ${lastResponse}` })
}

/**
 * The environment of this process, for a client of the Kafka in `settings`. One that `npm start` starts has no security,
 * whatever the environment says about another one.
 *
 * @param {import('./settings.mjs').Settings} settings
 * @returns {NodeJS.ProcessEnv}
 */
export function kafkaEnvironmentOf({ kafkaBrokers }) {
  const isSecurity = /^KAFKA_(SECURITY|SSL|SASL|CLIENT)_/
  if (kafkaBrokers) return process.env
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSecurity.test(name)))
}

/**
 * Other settings in the environment (a log level, a deadline) are passed on to the services.
 *
 * @param {ServiceName} name
 * @param {Environment} environment
 * @returns {NodeJS.ProcessEnv}
 */
function environmentOf(name, { settings, kafkaBrokers, redisUrl, token }) {
  // Callers need the token; the services need only its digest. The api accepts no other token here.
  const { PLANT_STORE_TOKEN: _, PLANT_STORE_TOKEN_DIGESTS_FILE: __, ...own } = kafkaEnvironmentOf(settings)
  const env = {
    ...own,
    KAFKA_BROKERS: kafkaBrokers,
    REDIS_URL: redisUrl,
    PLANTS_TOPIC: settings.topic,
    PLANTS_PARTITIONS: String(settings.partitions),
    HOST: settings.host,
  }
  if (name === 'projector') return { ...env, OPS_PORT: String(settings.opsPort + 1) }
  return {
    ...env,
    PORT: String(settings.port),
    OPS_PORT: String(settings.opsPort),
    PLANT_STORE_TOKEN_DIGESTS: digestOf(token),
  }
}
