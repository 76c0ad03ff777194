import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../processes/failure.mjs'
import { writeWhole } from '../processes/whole-file.mjs'
import { pullMissingImages, whyNoDocker } from '../stores/docker.mjs'
import { ensureJars } from '../stores/jars.mjs'
import { startAsProcesses } from './stores-as-processes.mjs'
import { startInDocker } from './stores-in-docker.mjs'

/**
 * @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess
 *
 * @typedef {object} Launch
 * @property {import('./settings.mjs').Settings} settings
 * @property {string} token
 * @property {import('./progress.mjs').Progress} progress
 * @property {(running: RunningProcess) => void} onSpawn told of each process, ready or not
 * @property {(running: RunningProcess, start: import('./supervisor.mjs').Start) => void} keep is given each
 *   process that is ready, and how to start it again
 * @property {(containers: ReturnType<typeof import('../stores/docker.mjs').createContainers>) => void} onContainers
 *   is given them before they are started
 *
 * @typedef {{ kafkaBrokers: string, redisUrl: string, dockerProject?: string }} Addresses
 * @typedef {(signal: AbortSignal) => Promise<Addresses>} StartStores
 */

/**
 * Chooses where Kafka and Redis come from and gets what they need. The settings' own choice counts; else, for
 * those that don't run elsewhere already, Docker when it serves, and processes when not.
 *
 * @param {Launch} launch
 * @param {AbortSignal} signal
 * @returns {Promise<StartStores>}
 * @throws {Failure} that says what to install
 */
export async function prepareStores(launch, signal) {
  const { settings, progress } = launch
  const { kafkaBrokers, redisUrl } = settings
  if (kafkaBrokers && redisUrl) return async () => ({ kafkaBrokers, redisUrl })
  if (await takesDocker(launch, signal)) {
    noteSource(launch, 'docker')
    return (signal) => startInDocker(launch, signal)
  }
  const needed = { kafka: !kafkaBrokers, redis: !redisUrl, signal }
  const programs = await progress.step('Programs of Kafka and Redis', () => ensureJars(needed))
  noteSource(launch, 'processes')
  return (signal) => startAsProcesses(launch, programs, signal)
}

/**
 * @param {Launch} launch
 * @param {AbortSignal} signal
 * @throws {Failure} when Docker is asked for and can't be used
 */
async function takesDocker({ settings: { source }, progress }, signal) {
  if (source === 'processes') return false
  const obstacle =
    (await whyNoDocker(signal)) ??
    (await progress.step('Images of Kafka and Redis', () => pullMissingImages(signal)))
  if (obstacle === undefined) return true
  if (source === 'docker') throw new Failure(`--with docker: ${obstacle}. --with processes needs none.`)
  progress.say(`  Kafka and Redis run as processes: ${obstacle}.`)
  return false
}

/**
 * Containers and processes have data of their own: says so when this start will not see the last one's plants.
 *
 * @param {Launch} launch
 * @param {'docker' | 'processes'} source
 */
function noteSource({ settings, progress }, source) {
  const file = join(settings.localDir, 'data', 'source')
  const last = existsSync(file) ? readFileSync(file, 'utf8').trim() : source
  if (last !== source)
    progress.say(`! The plants of the last start are in other stores: --with ${last} has them.`)
  writeWhole(file, `${source}\n`)
}
