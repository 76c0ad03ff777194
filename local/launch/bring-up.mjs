import { join } from 'node:path'
import { root } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'
import { rotateLog } from '../processes/log-file.mjs'
import { sideBySide } from '../processes/side-by-side.mjs'
import { ensureNode } from '../toolchain/node.mjs'
import { ensureInstalled } from '../toolchain/prepare.mjs'
import { startService, untilServiceReady } from './service.mjs'
import { servicesOf, urlsOf } from './settings.mjs'
import { environmentFor, prepareStores } from './stores.mjs'

/** @typedef {import('./stores.mjs').Launch} Launch */

const setupTimeoutMs = 60_000
const startTimeoutMs = 60_000

/**
 * Starts everything, from an empty machine to ready services. On a failure it ends what is half started; the caller
 * stops what was handed to `keep`.
 *
 * @param {Launch} launch
 * @param {AbortSignal} signal ends the start
 * @returns {Promise<import('./stores.mjs').Stores>}
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
  const setUp = (/** @type {string} */ script) => runSetup(script, { node, stores, settings, signal })
  if (settings.cluster) await progress.step('Rights in Kafka', () => setUp('grant-rights.ts'))
  await progress.step(`Topic ${settings.topic}`, () => setUp('create-topic.ts'))
  const environment = { node, settings, token: launch.token, stores }
  await sideBySide(
    signal,
    ...servicesOf(settings).map(
      (service) => (/** @type {AbortSignal} */ signal) => bringUpService(service, launch, environment, signal),
    ),
  )
  return stores
}

/**
 * @param {string} script in local/
 * @param {object} options
 * @param {string} options.node
 * @param {import('./stores.mjs').Stores} options.stores
 * @param {import('./settings.mjs').Settings} options.settings
 * @param {AbortSignal} options.signal
 */
async function runSetup(script, { node, stores, settings: { topic, partitions, table }, signal }) {
  const names = { PLANTS_TOPIC: topic, PLANTS_PARTITIONS: String(partitions), PLANTS_TABLE: table }
  const options = {
    cwd: root,
    env: { ...environmentFor(stores, 'setup'), ...names },
    timeoutMs: setupTimeoutMs,
    signal,
  }
  const { code, output } = await runCommand(node, [join('local', script)], options)
  if (code !== 0) throw new Failure(`Topic ${topic} cannot be used:\n${endOf(output)}`)
}

/**
 * @param {import('./service.mjs').Service} service
 * @param {Launch} launch
 * @param {import('./service.mjs').Environment} environment
 * @param {AbortSignal} signal
 */
async function bringUpService(service, { settings, progress, onSpawn, keep }, environment, signal) {
  const { name } = service
  rotateLog(join(settings.localDir, 'logs', `${name}.log`))
  const start = async () => {
    const running = await startService(service, environment)
    onSpawn(running)
    return running
  }
  await progress.step(`Service ${name}`, async () => {
    const running = await start()
    await untilServiceReady(running, String(urlsOf(settings).opsUrls[name]), { startTimeoutMs, signal })
    keep(running, start)
  })
}
