import { join } from 'node:path'
import { root } from '../places.mjs'
import { startProcess, untilReady } from '../processes/process.mjs'
import { digestOf } from './token.mjs'

/**
 * @typedef {'api' | 'projector'} ServiceName
 * @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess
 *
 * What the services are started with.
 * @typedef {object} Environment
 * @property {string} node
 * @property {import('./settings.mjs').Settings} settings
 * @property {string} kafkaBrokers
 * @property {string} redisUrl
 * @property {string} token
 */

/**
 * V8 makes objects old at once of which it once saw many outlive a scavenge: of what belongs to a request, that was while 256 were under
 * way. From then on what they refer to, young and dead, is copied by each scavenge, for 20 ms where it takes 1. The Dockerfile says the same.
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
 * @returns {Promise<RunningProcess>} at once, ready or not
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
  let lastAnswer = 'its operations port does not answer'
  const isReady = async () => {
    try {
      const response = await fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(2000) })
      lastAnswer = `/readyz says ${(await response.text()).trim()}`
      return response.status === 200
    } catch {
      return false
    }
  }
  await untilReady(running, { isReady, startTimeoutMs, signal, why: () => ` ${lastAnswer}` })
}

/**
 * Settings of the caller's own (a log level, a deadline) reach the services, too.
 *
 * @param {ServiceName} name
 * @param {Environment} environment
 * @returns {NodeJS.ProcessEnv}
 */
function environmentOf(name, { settings, kafkaBrokers, redisUrl, token }) {
  // The token itself is for callers: no service needs it. It is also the only one that the api accepts here.
  const { PLANT_STORE_TOKEN: _, PLANT_STORE_TOKEN_DIGESTS_FILE: __, ...own } = process.env
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
