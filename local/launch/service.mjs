import { join } from 'node:path'
import { root } from '../places.mjs'
import { startProcess, untilReady } from '../processes/process.mjs'
import { environmentFor } from './stores.mjs'
import { digestOf } from './token.mjs'

/**
 * @typedef {import('./settings.mjs').Service} Service
 * @typedef {import('./settings.mjs').ServiceKind} ServiceKind
 * @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess
 *
 * The environment of the services.
 * @typedef {object} Environment
 * @property {string} node
 * @property {import('./settings.mjs').Settings} settings
 * @property {import('./stores.mjs').Stores} stores
 * @property {string} token
 */

/**
 * V8 allocates objects directly in the old generation when many from the same place have once survived a scavenge. The
 * objects of requests do so while 256 are in flight. From then on each scavenge copies what they refer to, dead objects
 * included, and takes 20 ms instead of 1. The Dockerfile sets the same option.
 */
export const API_NODE_OPTIONS = ['--no-allocation-site-pretenuring']

/**
 * @param {ServiceKind} kind
 * @param {string} [folder] the folder of another release; this one's unless given
 * @returns {string[]} Node's own options, and the program
 */
export const argumentsOf = (kind, folder = root) => [
  ...(kind === 'api' ? API_NODE_OPTIONS : []),
  join(folder, 'services', kind, 'src', 'main.ts'),
]

/**
 * How long a service may take to end: longer than it allows itself (`runService`; an api drains first), because after
 * SIGKILL a create in flight gets no response.
 *
 * @param {ServiceKind} kind
 * @param {NodeJS.ProcessEnv} env
 */
export const stopGraceMs = (kind, { DRAIN_MS }) =>
  Math.max(10_000, kind === 'api' ? Number(DRAIN_MS || 500) + 9_500 : 0)

/**
 * @param {Service} service
 * @param {Environment} environment
 * @returns {Promise<RunningProcess>} at once, before it is ready
 */
export function startService(service, environment) {
  const { name, kind } = service
  const logFile = join(environment.settings.localDir, 'logs', `${name}.log`)
  const env = environmentOf(service, environment)
  return startProcess({ name, command: environment.node, args: argumentsOf(kind), cwd: root, env, logFile })
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
 * Other settings in the environment (a log level, a deadline) are passed on to the services.
 *
 * @param {Service} service
 * @param {Environment} environment
 * @returns {NodeJS.ProcessEnv}
 */
function environmentOf({ kind, port, opsPort }, { settings, stores, token }) {
  // Callers need the token; the services need only its digest. The api accepts no other token here.
  const { PLANT_STORE_TOKEN: _, PLANT_STORE_TOKEN_DIGESTS_FILE: __, ...own } = environmentFor(stores, kind)
  const env = {
    ...own,
    PLANTS_TOPIC: settings.topic,
    PLANTS_PARTITIONS: String(settings.partitions),
    PLANTS_TABLE: settings.table,
    HOST: settings.host,
    OPS_PORT: String(opsPort),
  }
  if (port === undefined) return env
  return { ...env, PORT: String(port), PLANT_STORE_TOKEN_DIGESTS: digestOf(token) }
}
