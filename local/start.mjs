import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { bringUp } from './launch/bring-up.mjs'
import { help, welcome } from './launch/help.mjs'
import { createProgress } from './launch/progress.mjs'
import { removeRun, writeRun } from './launch/run-file.mjs'
import { stopGraceMs } from './launch/service.mjs'
import { portsOf, readSettings, servicesOf, urlsOf } from './launch/settings.mjs'
import { claim } from './launch/started-record.mjs'
import { forget } from './launch/stores.mjs'
import { createSupervisor } from './launch/supervisor.mjs'
import { storedToken } from './launch/token.mjs'
import { describe, Failure } from './processes/failure.mjs'
import { isPortFree } from './processes/port.mjs'
import { killLivingGroups } from './processes/process.mjs'
import { killLivingContainers } from './stores/docker.mjs'

/**
 * @typedef {import('./processes/process.mjs').RunningProcess} RunningProcess
 * @typedef {import('./launch/settings.mjs').Settings} Settings
 * @typedef {import('./launch/progress.mjs').Progress} Progress
 * @typedef {Awaited<ReturnType<typeof claim>>} Started
 * @typedef {ReturnType<typeof import('./stores/docker.mjs').createContainers>} Containers
 */

/** `npm start` forwards a Ctrl-C that the terminal has also sent to this process: both together are one request. */
const sameRequestMs = 500

// A closed pipe (`npm start | head`) must not end the services.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
// Nothing that this process started may outlive it, not even after a defect.
process.on('exit', () => {
  killLivingGroups()
  killLivingContainers()
})

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  console.error(`\n${describe(error)}`)
  return 1
})
// Without waiting for idle connections of the readiness checks.
process.exit()

/**
 * @param {string[]} args
 * @returns {Promise<number>} the exit code
 */
async function main(args) {
  const options = readOptions(args)
  if (options.help) {
    process.stdout.write(help)
    return 0
  }
  const settings = readSettings(process.env, options)
  const progress = createProgress(process.stdout)
  const started = await claim(settings.localDir, (names) => {
    progress.say(`Stopping what an earlier npm start left running: ${names.join(', ')}`)
  })
  const stop = listenForStop({
    onFirst: (signal) => progress.say(`Stopping (${signal}) …`),
    onSecond() {
      progress.say('Stopping everything at once.')
      removeRun(settings.localDir)
      started.remove()
    },
  })
  try {
    await checkPorts(settings)
    if (options.fresh) await forget(settings, progress)
    keepPrivate(settings.localDir)
    return await run(settings, progress, stop, started)
  } finally {
    started.remove()
  }
}

/**
 * Plants, logs and passwords are readable by this user only. The folder has downloads as well, for every user.
 *
 * @param {string} localDir
 */
function keepPrivate(localDir) {
  for (const folder of ['data', 'logs', 'examples']) {
    mkdirSync(join(localDir, folder), { recursive: true })
    chmodSync(join(localDir, folder), 0o700)
  }
}

/** @param {Settings} settings */
async function checkPorts(settings) {
  for (const { port, host, what, setting } of portsOf(settings)) {
    if (await isPortFree(port, host)) continue
    throw new Failure(
      `Port ${port} of ${host}, for ${what}, is in use: end the program that listens there, set ${setting} to another ` +
        `port, or move all ports, as in \`npm start -- --port ${settings.port + 1000}\`.`,
    )
  }
}

/**
 * @param {Settings} settings
 * @param {Progress} progress
 * @param {AbortSignal} stop
 * @param {Started} started
 */
async function run(settings, progress, stop, started) {
  const { localDir, topic, partitions, table } = settings
  const token = settings.token ?? storedToken(localDir)
  /** @type {import('./launch/run-file.mjs').Pids} */
  const pids = { launcher: process.pid }
  /** @type {(() => void) | undefined} */
  let publish
  const onSpawn = (/** @type {RunningProcess} */ { name, pid }) => started.add(name, pid)
  /** @type {Containers | undefined} */
  let containers
  const onContainers = (/** @type {Containers} */ found) => {
    containers = found
    started.addContainers(found.project)
  }
  const gaveUp = new AbortController()
  const supervisor = createSupervisor({
    say: progress.say,
    onRunning({ name, pid }) {
      Object.assign(pids, { [name]: pid })
      publish?.()
    },
    onGiveUp: (error) => gaveUp.abort(error),
  })
  try {
    const endOfStart = AbortSignal.any([stop, gaveUp.signal])
    const launch = { settings, token, progress, onSpawn, keep: supervisor.keep, onContainers }
    const stores = await bringUp(launch, endOfStart)
    const { settingsOf, dockerProject } = stores
    const { KAFKA_BROKERS: kafkaBrokers, REDIS_URL: redisUrl, ...storeSettings } = settingsOf('plantctl')
    const addresses = { ...urlsOf(settings), kafkaBrokers, redisUrl, storeSettings, dockerProject }
    publish = () => writeRun(localDir, { ...addresses, token, topic, partitions, table, pids })
    publish()
    progress.say(welcome(settings, token, stores.dockerProject))
    await Promise.race([aborted(stop), aborted(gaveUp.signal)])
    gaveUp.signal.throwIfAborted()
    return 0
  } catch (error) {
    if (stop.aborted) return 0
    progress.say('Stopping …')
    throw error
  } finally {
    publish = undefined
    await stopAll(settings, await supervisor.release(), containers).catch((error) =>
      progress.say(`! ${describe(error)}`),
    )
    removeRun(localDir)
    progress.say('Stopped.')
  }
}

/**
 * Stops everything. The apis are first: they need both stores to complete the requests in flight. A store that takes
 * longer than its limit is killed, which loses nothing.
 *
 * @param {Settings} settings
 * @param {Map<string, RunningProcess>} running
 * @param {Containers | undefined} containers
 */
async function stopAll(settings, running, containers) {
  for (const kind of /** @type {const} */ (['api', 'projector'])) {
    const services = servicesOf(settings).filter((service) => service.kind === kind)
    const graceMs = stopGraceMs(kind, process.env)
    await Promise.all(services.map(async ({ name }) => running.get(name)?.stop({ graceMs })))
  }
  await Promise.all([containers?.stop(), ...[...running.values()].map((store) => store.stop({ graceMs: 2500 }))])
}

/** @param {AbortSignal} signal */
function aborted(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', resolve, { once: true })
  })
}

/** @param {string[]} args */
function readOptions(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        with: { type: 'string' },
        port: { type: 'string' },
        cluster: { type: 'boolean' },
        fresh: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    return values
  } catch (error) {
    throw new Failure(
      `${/** @type {Error} */ (error).message}. The options are --with, --port, --cluster, --fresh and --help.`,
    )
  }
}

/**
 * Turns Ctrl-C, SIGTERM and SIGHUP into an abort signal. A second signal stops everything at once.
 *
 * @param {object} listeners
 * @param {(name: NodeJS.Signals) => void} listeners.onFirst
 * @param {() => void} listeners.onSecond called before the process exits
 * @returns {AbortSignal}
 */
function listenForStop({ onFirst, onSecond }) {
  const stop = new AbortController()
  let firstAt = 0
  /** @param {NodeJS.Signals} name */
  const onSignal = (name) => {
    if (!stop.signal.aborted) {
      firstAt = performance.now()
      onFirst(name)
      stop.abort(name)
    } else if (performance.now() - firstAt > sameRequestMs) {
      onSecond()
      killLivingGroups()
      process.exit(1)
    }
  }
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(name, onSignal)
  return stop.signal
}
