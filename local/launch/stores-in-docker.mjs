import { createHash } from 'node:crypto'
import { createContainers } from '../stores/docker.mjs'

/**
 * @typedef {import('./stores.mjs').Launch} Launch
 * @typedef {import('./stores.mjs').Addresses} Addresses
 */

const startTimeoutMs = 60_000

/**
 * Kafka and Redis as containers that end with the launcher; each local folder has containers of its own.
 *
 * @param {Launch} launch
 * @param {AbortSignal} signal
 * @returns {Promise<Addresses>}
 */
export async function startInDocker({ settings, progress, onContainers }, signal) {
  const { kafkaBrokers, redisUrl, localDir } = settings
  const containers = createContainers(projectOf(localDir))
  /** @type {import('../stores/docker.mjs').Store[]} */
  const stores = []
  if (!kafkaBrokers) stores.push('kafka')
  if (!redisUrl) stores.push('redis')
  onContainers(containers)
  const options = { startTimeoutMs, signal }
  const ports = await progress.step('Kafka and Redis in Docker', () => containers.start(stores, options))
  return {
    kafkaBrokers: kafkaBrokers ?? `127.0.0.1:${ports.kafka}`,
    redisUrl: redisUrl ?? `redis://127.0.0.1:${ports.redis}`,
    dockerProject: containers.project,
  }
}

/**
 * @param {string} localDir
 * @returns {string} the name of its compose project, which is also in the names of its volumes
 */
export function projectOf(localDir) {
  return `plant-store-${createHash('sha256').update(localDir).digest('hex').slice(0, 8)}`
}
