import { join } from 'node:path'
import { rotateLog } from '../processes/log-file.mjs'
import { sideBySide } from '../processes/side-by-side.mjs'
import { startKafka } from '../stores/kafka.mjs'
import { startRedis } from '../stores/redis.mjs'

/**
 * @typedef {import('./stores.mjs').Launch} Launch
 * @typedef {import('./stores.mjs').Addresses} Addresses
 * @typedef {Awaited<ReturnType<typeof import('../stores/jars.mjs').ensureJars>>} Programs
 */

const startTimeoutMs = 60_000

/**
 * Kafka and Redis as processes of this machine, with their data in the local folder.
 *
 * @param {Launch} launch
 * @param {Programs} programs
 * @param {AbortSignal} signal
 * @returns {Promise<Addresses>}
 */
export async function startAsProcesses(launch, programs, signal) {
  const given = launch.settings
  const [kafkaBrokers, redisUrl] = await sideBySide(
    signal,
    async (signal) => given.kafkaBrokers ?? bringUpKafka(launch, programs, signal),
    async (signal) => given.redisUrl ?? bringUpRedis(launch, programs, signal),
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
