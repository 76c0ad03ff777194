import { join } from 'node:path'
import { root } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'
import { rotateLog } from '../processes/log-file.mjs'
import { sideBySide } from '../processes/side-by-side.mjs'
import { ensureJars } from '../stores/jars.mjs'
import { startKafka } from '../stores/kafka.mjs'
import { startRedis } from '../stores/redis.mjs'
import { ensureInstalled } from '../toolchain/install.mjs'
import { ensureNode } from '../toolchain/node.mjs'
import { startService, untilServiceReady } from './service.mjs'
import { urlsOf } from './settings.mjs'

/**
 * @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess
 * @typedef {Awaited<ReturnType<typeof ensureJars>>} Programs
 *
 * @typedef {object} Launch
 * @property {import('./settings.mjs').Settings} settings
 * @property {string} token
 * @property {import('./progress.mjs').Progress} progress
 * @property {(running: RunningProcess) => void} onSpawn told of each process, ready or not
 * @property {(running: RunningProcess, start: import('./supervisor.mjs').Start) => void} keep is given each
 *   process that is ready, and how to start it again
 */

const topicTimeoutMs = 60_000
const startTimeoutMs = 60_000

/**
 * From an empty machine to two services that are ready. What was only half started when it fails is ended
 * here; what was handed to `keep` is the caller's to stop.
 *
 * @param {Launch} launch
 * @param {AbortSignal} signal ends the start
 * @returns {Promise<{ kafkaBrokers: string, redisUrl: string }>}
 * @throws {Failure}
 */
export async function bringUp(launch, signal) {
  const { progress, settings } = launch
  const { kafkaBrokers: givenBrokers, redisUrl: givenRedis } = settings
  const [node, , programs] = await sideBySide(
    signal,
    (signal) => progress.step('Node', () => ensureNode({ signal })),
    (signal) => progress.step('Packages', () => ensureInstalled({ dev: false, signal })),
    async (signal) => {
      if (givenBrokers && givenRedis) return undefined
      const needed = { kafka: !givenBrokers, redis: !givenRedis, signal }
      return progress.step('Programs of Kafka and Redis', () => ensureJars(needed))
    },
  )
  const [kafkaBrokers, redisUrl] = await sideBySide(
    signal,
    async (signal) => givenBrokers ?? bringUpKafka(launch, /** @type {Programs} */ (programs), signal),
    async (signal) => givenRedis ?? bringUpRedis(launch, /** @type {Programs} */ (programs), signal),
  )
  await progress.step(`Topic ${settings.topic}`, () => createTopic(node, kafkaBrokers, settings, signal))
  const environment = { node, settings, token: launch.token, kafkaBrokers, redisUrl }
  await sideBySide(
    signal,
    (signal) => bringUpService('api', launch, environment, signal),
    (signal) => bringUpService('projector', launch, environment, signal),
  )
  return { kafkaBrokers, redisUrl }
}

/**
 * @param {Launch} launch
 * @param {Programs} programs
 * @param {AbortSignal} signal
 */
async function bringUpKafka({ settings, progress, onSpawn, keep }, { java, kafkaClasspath }, signal) {
  const { dir, logFile } = placesOf('kafka', settings)
  const options = { dir, logFile, java, classpath: kafkaClasspath, onSpawn, startTimeoutMs }
  const kafka = await progress.step('Kafka', () => startKafka({ ...options, signal }))
  keep(kafka, (signal) => startKafka({ ...options, port: kafka.port, signal }))
  return kafka.brokers
}

/**
 * @param {Launch} launch
 * @param {Programs} programs
 * @param {AbortSignal} signal
 */
async function bringUpRedis({ settings, progress, onSpawn, keep }, { redisServer }, signal) {
  const { dir, logFile } = placesOf('redis', settings)
  const options = { dir, logFile, redisServer, appendOnly: true, onSpawn, startTimeoutMs }
  const redis = await progress.step('Redis', () => startRedis({ ...options, signal }))
  keep(redis, (signal) => startRedis({ ...options, port: redis.port, signal }))
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
 * @param {string} node
 * @param {string} kafkaBrokers
 * @param {import('./settings.mjs').Settings} settings
 * @param {AbortSignal} signal
 */
async function createTopic(node, kafkaBrokers, { topic, partitions }, signal) {
  const names = { KAFKA_BROKERS: kafkaBrokers, PLANTS_TOPIC: topic, PLANTS_PARTITIONS: String(partitions) }
  const options = { cwd: root, env: { ...process.env, ...names }, timeoutMs: topicTimeoutMs, signal }
  const { code, output } = await runCommand(node, [join('local', 'create-topic.ts')], options)
  if (code !== 0) throw new Failure(`Topic ${topic} is not as it must be:\n${endOf(output)}`)
}

/**
 * @param {import('./service.mjs').ServiceName} name
 * @param {Launch} launch
 * @param {import('./service.mjs').Environment} environment
 * @param {AbortSignal} signal
 */
async function bringUpService(name, { settings, progress, onSpawn, keep }, environment, signal) {
  rotateLog(join(settings.localDir, 'logs', `${name}.log`))
  const start = async () => {
    const running = await startService(name, environment)
    onSpawn(running)
    return running
  }
  await progress.step(`Service ${name}`, async () => {
    const running = await start()
    await untilServiceReady(running, urlsOf(settings).opsUrls[name], { startTimeoutMs, signal })
    keep(running, start)
  })
}
