import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { bringUp } from './launch/bring-up.mjs'
import { createProgress } from './launch/progress.mjs'
import { removeRun, writeRun } from './launch/run-file.mjs'
import { readSettings, urlsOf } from './launch/settings.mjs'
import { claim } from './launch/started-record.mjs'
import { listenForStop } from './launch/stop-signal.mjs'
import { createSupervisor } from './launch/supervisor.mjs'
import { keptToken } from './launch/token.mjs'
import { help, welcome } from './launch/words.mjs'
import { describe, Failure } from './processes/failure.mjs'
import { isPortFree } from './processes/port.mjs'
import { killLivingGroups } from './processes/process.mjs'

/**
 * @typedef {import('./processes/process.mjs').RunningProcess} RunningProcess
 * @typedef {import('./launch/settings.mjs').Settings} Settings
 * @typedef {import('./launch/progress.mjs').Progress} Progress
 */

// A reader that went away (`npm start | head`) must not end what runs.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
// Whatever ends us, a defect included, nothing we started outlives us.
process.on('exit', killLivingGroups)

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
  const unknown = args.find((arg) => arg !== '--help' && arg !== '-h' && arg !== '--fresh')
  if (unknown) throw new Failure(`Unknown option ${unknown}. There are --fresh and --help.`)
  if (args.some((arg) => arg === '--help' || arg === '-h')) {
    process.stdout.write(help)
    return 0
  }
  const settings = readSettings(process.env)
  const progress = createProgress(process.stdout)
  const started = await claim(settings.localDir, (names) => {
    progress.say(`Ending what an earlier npm start has left running: ${names.join(', ')}`)
  })
  const stop = listenForStop({
    onFirst: (signal) => progress.say(`Stopping (${signal}) …`),
    onSecond() {
      progress.say('Ending everything at once.')
      removeRun(settings.localDir)
      started.remove()
    },
  })
  try {
    await checkPorts(settings)
    if (args.includes('--fresh')) forget(settings, progress)
    return await run(settings, progress, stop, started.add)
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
    throw new Failure(`Port ${port} of ${host}, for ${what}, is in use. Set ${setting} to another one.`)
  }
}

/**
 * @param {Settings} settings
 * @param {Progress} progress
 */
function forget({ localDir, kafkaBrokers, redisUrl }, progress) {
  const data = join(localDir, 'data')
  rmSync(data, { recursive: true, force: true })
  progress.say(`Forgot the plants stored in ${data}; the token is kept.`)
  const elsewhere = [kafkaBrokers && 'KAFKA_BROKERS', redisUrl && 'REDIS_URL'].filter(Boolean)
  if (elsewhere.length > 0)
    progress.say(`Left as it is: what is stored where ${elsewhere.join(' and ')} says.`)
}

/**
 * @param {Settings} settings
 * @param {Progress} progress
 * @param {AbortSignal} stop
 * @param {(name: string, pid: number) => void} recordStarted
 */
async function run(settings, progress, stop, recordStarted) {
  const { localDir } = settings
  const token = settings.token ?? keptToken(localDir)
  /** @type {import('./launch/run-file.mjs').Pids} */
  const pids = { launcher: process.pid, api: 0, projector: 0 }
  /** @type {(() => void) | undefined} */
  let publish
  const onSpawn = (/** @type {RunningProcess} */ { name, pid }) => recordStarted(name, pid)
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
    const stores = await bringUp({ settings, token, progress, onSpawn, keep: supervisor.keep }, endOfStart)
    publish = () => writeRun(localDir, { ...urlsOf(settings), token, ...stores, topic: settings.topic, pids })
    publish()
    progress.say(welcome(settings, token))
    await Promise.race([aborted(stop), aborted(gaveUp.signal)])
    gaveUp.signal.throwIfAborted()
    return 0
  } catch (error) {
    if (stop.aborted) return 0
    progress.say('Stopping …')
    throw error
  } finally {
    publish = undefined
    await stopAll(await supervisor.release())
    removeRun(localDir)
    progress.say('Stopped.')
  }
}

/**
 * Ends everything within 10 s, the api first, for it needs both stores to answer what is under way.
 *
 * @param {Map<string, RunningProcess>} running
 */
async function stopAll(running) {
  await running.get('api')?.stop({ graceMs: 4000 })
  await running.get('projector')?.stop({ graceMs: 2000 })
  await Promise.all([...running.values()].map((store) => store.stop({ graceMs: 2500 })))
}

/** @param {AbortSignal} signal */
function aborted(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', resolve, { once: true })
  })
}
