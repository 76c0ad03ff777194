import { join } from 'node:path'
import { root } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'
import { rotateLog } from '../processes/log-file.mjs'
import { sideBySide } from '../processes/side-by-side.mjs'
import { ensureNode } from '../toolchain/node.mjs'
import { ensureInstalled } from '../toolchain/prepare.mjs'
import { kafkaEnvironmentOf, startService, untilServiceReady } from './service.mjs'
import { urlsOf } from './settings.mjs'
import { prepareStores } from './stores.mjs'

/** @typedef {import('./stores.mjs').Launch} Launch */

const topicTimeoutMs = 60_000
const startTimeoutMs = 60_000

/**
 * Starts everything, from an empty machine to two ready services. On a failure it ends what is half started; the caller
 * stops what was handed to `keep`.
 *
 * @param {Launch} launch
 * @param {AbortSignal} signal ends the start
 * @returns {Promise<import('./stores.mjs').Addresses>}
 * @throws {Failure}
 */
export async function bringUp(launch, signal) {
  const { progress, settings } = launch
  const [node, , startStores] = await sideBySide(
    signal,
    (signal) => progress.step('Node', () => ensureNode({ signal })),
    (signal) => progress.step('Packages', () => ensureInstalled({ dev: false, signal })),
    (signal) => prepareStores(launch, signal),
  )
  const stores = await startStores(signal)
  const { kafkaBrokers, redisUrl } = stores
  await progress.step(`Topic ${settings.topic}`, () => createTopic(node, kafkaBrokers, settings, signal))
  const environment = { node, settings, token: launch.token, kafkaBrokers, redisUrl }
  await sideBySide(
    signal,
    (signal) => bringUpService('api', launch, environment, signal),
    (signal) => bringUpService('projector', launch, environment, signal),
  )
  return stores
}

/**
 * @param {string} node
 * @param {string} kafkaBrokers
 * @param {import('./settings.mjs').Settings} settings
 * @param {AbortSignal} signal
 */
async function createTopic(node, kafkaBrokers, settings, signal) {
  const { topic, partitions } = settings
  const names = { KAFKA_BROKERS: kafkaBrokers, PLANTS_TOPIC: topic, PLANTS_PARTITIONS: String(partitions) }
  const options = { cwd: root, env: { ...kafkaEnvironmentOf(settings), ...names }, timeoutMs: topicTimeoutMs, signal }
  const { code, output } = await runCommand(node, [join('local', 'create-topic.ts')], options)
  if (code !== 0) throw new Failure(`Topic ${topic} cannot be used:\n${endOf(output)}`)
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
