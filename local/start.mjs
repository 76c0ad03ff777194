import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { bringUp } from './launch/bring-up.mjs'
import { help, welcome } from './launch/help.mjs'
import { createProgress } from './launch/progress.mjs'
import { removeRun, writeRun } from './launch/run-file.mjs'
import { readSettings, urlsOf } from './launch/settings.mjs'
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
  const settings = readSettings(process.env, options.with)
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
    return await run(settings, progress, stop, started)
  } finally {
    started.remove()
  }
}

/** @param {Settings} settings */
async function checkPorts({ host, port, opsPort }) {
  const uses = [
    { port, what: 'the api', setting: 'PORT' },
    { port: opsPort, what: "the api's operations port", setting: 'OPS_PORT' },
    { port: opsPort + 1, what: "the projector's operations port (OPS_PORT + 1)", setting: 'OPS_PORT' },
  ]
  for (const { port, what, setting } of uses) {
    if (await isPortFree(port, host)) continue
    throw new Failure(`Port ${port} of ${host}, for ${what}, is in use: set ${setting} to another port.`)
  }
}

/**
 * @param {Settings} settings
 * @param {Progress} progress
 * @param {AbortSignal} stop
 * @param {Started} started
 */
async function run(settings, progress, stop, started) {
  const { localDir, topic, partitions } = settings
  const token = settings.token ?? storedToken(localDir)
  /** @type {import('./launch/run-file.mjs').Pids} */
  const pids = { launcher: process.pid, api: 0, projector: 0 }
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
    publish = () => writeRun(localDir, { ...urlsOf(settings), token, ...stores, topic, partitions, pids })
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
    await stopAll(await supervisor.release(), containers).catch((error) => progress.say(`! ${describe(error)}`))
    removeRun(localDir)
    progress.say('Stopped.')
  }
}

/**
 * Stops everything within 10 s. The api is first: it needs both stores to complete the requests in flight.
 *
 * @param {Map<string, RunningProcess>} running
 * @param {Containers | undefined} containers
 */
async function stopAll(running, containers) {
  await running.get('api')?.stop({ graceMs: 4000 })
  await running.get('projector')?.stop({ graceMs: 2000 })
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
        fresh: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    return values
  } catch (error) {
    throw new Failure(`${/** @type {Error} */ (error).message}. The options are --with, --fresh and --help.`)
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
