import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../processes/failure.mjs'
import { rotateLog } from '../processes/log-file.mjs'
import { sideBySide } from '../processes/side-by-side.mjs'
import { writeWhole } from '../processes/whole-file.mjs'
import { createContainers, pullMissingImages, whyNoDocker } from '../stores/docker.mjs'
import { ensureJars } from '../stores/jars.mjs'
import { startKafka } from '../stores/kafka.mjs'
import { startRedis } from '../stores/redis.mjs'
import { prepareCluster } from './cluster.mjs'

/**
 * @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess
 *
 * @typedef {object} Launch
 * @property {import('./settings.mjs').Settings} settings
 * @property {string} token
 * @property {import('./progress.mjs').Progress} progress
 * @property {(running: RunningProcess) => void} onSpawn called with each new process, ready or not
 * @property {(running: RunningProcess, start: import('./supervisor.mjs').Start) => void} keep called with
 *   each ready process, and with the function that restarts it
 * @property {(containers: ReturnType<typeof import('../stores/docker.mjs').createContainers>) => void} onContainers
 *   called before they are started
 *
 * A program that uses the stores. If the stores have users, each program has the rights that it needs.
 * @typedef {'setup' | 'api' | 'projector' | 'plantctl'} Role
 *
 * @typedef {object} Stores
 * @property {(role: Role) => Record<string, string>} settingsOf the settings that connect a program to them
 * @property {string} [dockerProject] of their containers
 *
 * @typedef {(signal: AbortSignal) => Promise<Stores>} StartStores
 * @typedef {Awaited<ReturnType<typeof ensureJars>>} Programs
 */

const startTimeoutMs = 60_000

/**
 * Chooses the source of Kafka and Redis and installs the programs or images. The choice in the settings counts; without
 * one, stores that do not run elsewhere are started in Docker if it is available, else as processes.
 *
 * @param {Launch} launch
 * @param {AbortSignal} signal
 * @returns {Promise<StartStores>}
 * @throws {Failure} that says what to install
 */
export async function prepareStores(launch, signal) {
  const { settings, progress } = launch
  const { cluster, hasKafka, hasRedis } = settings
  if (cluster) return prepareCluster(launch, signal)
  if (hasKafka && hasRedis) return async () => openStores({})
  if (await takesDocker(launch, signal)) {
    noteSource(launch, 'docker')
    return (signal) => startInDocker(launch, signal)
  }
  const needed = { kafka: !hasKafka, redis: !hasRedis, signal }
  const programs = await progress.step('Programs of Kafka and Redis', () => ensureJars(needed))
  noteSource(launch, 'processes')
  return (signal) => startAsProcesses(launch, programs, signal)
}

/**
 * @param {Launch} launch
 * @param {AbortSignal} signal
 * @throws {Failure} when Docker is required and cannot be used
 */
async function takesDocker({ settings: { source }, progress }, signal) {
  if (source === 'processes') return false
  const obstacle =
    (await whyNoDocker(signal)) ?? (await progress.step('Images of Kafka and Redis', () => pullMissingImages(signal)))
  if (obstacle === undefined) return true
  if (source === 'docker') throw new Failure(`--with docker: ${obstacle}. --with processes needs no Docker.`)
  progress.say(`  Kafka and Redis run as processes: ${obstacle}.`)
  return false
}

/**
 * Containers and processes have separate data: warns when this start will not see the plants of the last one.
 *
 * @param {Launch} launch
 * @param {'docker' | 'processes'} source
 */
function noteSource({ settings, progress }, source) {
  const file = join(settings.localDir, 'data', 'source')
  const last = existsSync(file) ? readFileSync(file, 'utf8').trim() : source
  if (last !== source) progress.say(`! The plants of the last start are in other stores: --with ${last} has them.`)
  writeWhole(file, `${source}\n`)
}

/**
 * Stores that were started here need no login. For the others the environment has the settings.
 *
 * @param {{ kafkaBrokers?: string | undefined, redisUrl?: string | undefined }} started
 * @param {string} [dockerProject]
 * @returns {Stores}
 */
function openStores({ kafkaBrokers, redisUrl }, dockerProject) {
  const settings = {
    ...(kafkaBrokers ? { KAFKA_BROKERS: kafkaBrokers } : inEnvironment('KAFKA_')),
    ...(redisUrl ? { REDIS_URL: redisUrl } : inEnvironment('REDIS_')),
  }
  return { settingsOf: () => settings, ...(dockerProject && { dockerProject }) }
}

/** @param {string} prefix */
const inEnvironment = (prefix) =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value = '']) => (name.startsWith(prefix) ? [[name, value]] : [])),
  )

/**
 * The environment of a program: that of this process, but with the settings of these stores and no others.
 *
 * @param {Stores} stores
 * @param {Role} role
 * @returns {NodeJS.ProcessEnv}
 */
export function environmentFor({ settingsOf }, role) {
  const others = Object.entries(process.env).filter(([name]) => !/^(KAFKA|REDIS)_/.test(name))
  return { ...Object.fromEntries(others), ...settingsOf(role) }
}

/**
 * Kafka and Redis as containers that end with the launcher; each local folder has its own containers.
 *
 * @param {Launch} launch
 * @param {AbortSignal} signal
 * @returns {Promise<Stores>}
 */
async function startInDocker({ settings, progress, onContainers }, signal) {
  const { hasKafka, hasRedis, localDir, kafkaPort, redisPort } = settings
  const containers = createContainers(projectOf(localDir))
  /** @type {import('../stores/docker.mjs').Store[]} */
  const stores = []
  if (!hasKafka) stores.push('kafka')
  if (!hasRedis) stores.push('redis')
  onContainers(containers)
  const options = { ports: { kafka: kafkaPort, redis: redisPort }, startTimeoutMs, signal }
  await progress.step('Kafka and Redis in Docker', () => containers.start(stores, options))
  const started = {
    kafkaBrokers: hasKafka ? undefined : `127.0.0.1:${kafkaPort}`,
    redisUrl: hasRedis ? undefined : `redis://127.0.0.1:${redisPort}`,
  }
  return openStores(started, containers.project)
}

/**
 * @param {string} localDir
 * @returns {string} the name of its compose project, which is also in the names of its volumes
 */
export function projectOf(localDir) {
  return `plant-store-${createHash('sha256').update(localDir).digest('hex').slice(0, 8)}`
}

/**
 * Kafka and Redis as processes of this machine, with their data in the local folder.
 *
 * @param {Launch} launch
 * @param {Programs} programs
 * @param {AbortSignal} signal
 * @returns {Promise<Stores>}
 */
async function startAsProcesses(launch, programs, signal) {
  const { settings } = launch
  const [kafkaBrokers, redisUrl] = await sideBySide(
    signal,
    async (signal) => (settings.hasKafka ? undefined : bringUpKafka(launch, programs, signal)),
    async (signal) => (settings.hasRedis ? undefined : bringUpRedis(launch, programs, signal)),
  )
  return openStores({ kafkaBrokers, redisUrl })
}

/**
 * @param {Launch} launch
 * @param {Programs} programs
 * @param {AbortSignal} signal
 */
async function bringUpKafka({ settings, progress, onSpawn, keep }, { java, kafkaClasspath }, signal) {
  const { dir, logFile } = placesOf('kafka', settings)
  const ports = { port: settings.kafkaPort, controllerPort: settings.kafkaPort + 1 }
  const options = { ...ports, dir, logFile, java, classpath: kafkaClasspath, onSpawn, startTimeoutMs }
  const kafka = await progress.step('Kafka', () => startKafka({ ...options, signal }))
  keep(kafka, (signal) => startKafka({ ...options, signal }))
  return kafka.brokers
}

/**
 * @param {Launch} launch
 * @param {Programs} programs
 * @param {AbortSignal} signal
 */
async function bringUpRedis({ settings, progress, onSpawn, keep }, { redisServer }, signal) {
  const { dir, logFile } = placesOf('redis', settings)
  const options = { dir, logFile, redisServer, port: settings.redisPort, appendOnly: true, onSpawn, startTimeoutMs }
  const redis = await progress.step('Redis', () => startRedis({ ...options, signal }))
  keep(redis, (signal) => startRedis({ ...options, signal }))
  return redis.url
}

/**
 * @param {'kafka' | 'redis'} name
 * @param {import('./settings.mjs').Settings} settings
 */
function placesOf(name, { localDir }) {
  const logFile = join(localDir, 'logs', `${name}.log`)
  rotateLog(logFile)
  return { dir: join(localDir, 'data', name), logFile }
}

/**
 * Deletes the plants of this local folder: those of processes and those of containers.
 *
 * @param {import('./settings.mjs').Settings} settings
 * @param {import('./progress.mjs').Progress} progress
 */
export async function forget({ localDir, hasKafka, hasRedis }, progress) {
  const data = join(localDir, 'data')
  rmSync(data, { recursive: true, force: true })
  progress.say(`Deleted the plants in ${data}; the token stays.`)
  const obstacle = await whyNoDocker()
  if (obstacle === undefined) {
    await progress.step('Deleting the plants in Docker', createContainers(projectOf(localDir)).forget)
  } else {
    progress.say(`Not deleted: plants in Docker, if any (${obstacle}).`)
  }
  const elsewhere = [hasKafka && 'KAFKA_BROKERS', hasRedis && 'REDIS_URL'].filter(Boolean)
  if (elsewhere.length > 0) progress.say(`Not deleted: the data at ${elsewhere.join(' and ')}.`)
}
