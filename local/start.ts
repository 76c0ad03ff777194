import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { aborted, parseArgs } from 'node:util'
import { help, welcome } from './launch/help.ts'
import { say } from './launch/progress.ts'
import { type StoreUser, writeRun } from './launch/run-file.ts'
import { startServices, stopGraceMs } from './launch/service.ts'
import { portsOf, readSettings, type Settings, urlsOf } from './launch/settings.ts'
import { claim, type StartedRecord } from './launch/started-record.ts'
import { forget, startStores } from './launch/stores.ts'
import { createSupervisor } from './launch/supervisor.ts'
import { storedToken } from './launch/token.ts'
import { describe, Failure, runProgram } from './processes/failure.mjs'
import { END_SIGNALS } from './processes/foreground.mjs'
import { rotateLogs } from './processes/log-file.ts'
import { isPortFree } from './processes/port.ts'
import { killLivingGroups, livingProcesses, onEachStart } from './processes/process.ts'
import { killLivingContainers, stopLivingContainers } from './stores/docker.ts'

// `npm start`: Kafka, Redis and both services on this machine. run.ts has installed the packages.

/** A Ctrl-C reaches this process from the terminal and from the process that started it: together they are one request. */
const SAME_REQUEST_MS = 500
const STORE_GRACE_MS = 2500
const OPTIONS = {
  with: { type: 'string' },
  port: { type: 'string' },
  cluster: { type: 'boolean' },
  fresh: { type: 'boolean' },
} as const

// A closed pipe (`npm start | head`) must not end the services.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
// Nothing that this process started may outlive it, not even after a defect.
process.on('exit', () => {
  killLivingGroups()
  killLivingContainers()
})

await runProgram(main, help)
// Without waiting for what is still open.
process.exit()

/** Resolves to the exit code. */
async function main(args: string[]): Promise<number> {
  const options = readOptions(args)
  const settings = readSettings(process.env, options)
  const { localDir } = settings
  const started = await claim(localDir)
  const stop = listenForStop(started.remove)
  try {
    await checkPorts(settings)
    if (options.fresh) await forget(settings)
    // Plants, logs and passwords are readable by this user only. The folder has downloads as well, for every user.
    for (const folder of ['data', 'logs', 'examples'].map((name) => join(localDir, name))) {
      mkdirSync(folder, { recursive: true })
      chmodSync(folder, 0o700)
    }
    rotateLogs(join(localDir, 'logs'))
    onEachStart(({ name, pid }) => started.add(name, pid))
    return await run(settings, stop, started)
  } finally {
    started.remove()
  }
}

async function checkPorts(settings: Settings): Promise<void> {
  for (const { port, host, what, setting } of portsOf(settings))
    if (!(await isPortFree(port, host)))
      throw new Failure(
        `Port ${port} of ${host}, for ${what}, is in use: end the program that listens there, set ${setting} to ` +
          `another port, or move all ports, as in \`npm start -- --port ${settings.port + 1000}\`.`,
      )
}

async function run(settings: Settings, stop: AbortSignal, started: StartedRecord): Promise<number> {
  const { localDir, topic, partitions, table } = settings
  const token = settings.token ?? storedToken(localDir)
  let publish: (() => void) | undefined
  const { keep, gaveUp, release } = createSupervisor(() => publish?.())
  const launch = { settings, token, started, keep }
  try {
    const signal = AbortSignal.any([stop, gaveUp])
    const stores = await startStores(launch, signal)
    await startServices(launch, stores, signal)
    const { settingsOf, dockerProject } = stores
    const { EVENT_SOURCE } = process.env
    const settingsFor = (user: StoreUser) => ({ ...settingsOf(user), ...(EVENT_SOURCE && { EVENT_SOURCE }) })
    const [api, projector, plantctl] = [settingsFor('api'), settingsFor('projector'), settingsFor('plantctl')]
    const known = { token, topic, partitions, table, dockerProject, storeSettings: { api, projector, plantctl } }
    publish = () => {
      const started = livingProcesses().map(({ name, pid }) => [name, pid])
      const pids = { launcher: process.pid, ...Object.fromEntries(started) }
      writeRun(localDir, { ...urlsOf(settings), ...known, pids })
    }
    publish()
    say(welcome(settings, token, dockerProject))
    await aborted(signal, process)
    gaveUp.throwIfAborted()
    return 0
  } catch (error) {
    if (stop.aborted) return 0
    say('Stopping …')
    throw error
  } finally {
    publish = undefined
    await release()
    await stopAll().catch((error) => say(`! ${describe(error)}`))
    say('Stopped.')
  }
}

/**
 * Stops everything. The apis are first: they need both stores to complete the requests in flight. A store that takes
 * longer than its limit is killed, which loses nothing.
 */
async function stopAll() {
  const stop = (start: string, graceMs: number) =>
    livingProcesses().flatMap((one) => (one.name.startsWith(start) ? [one.stop({ graceMs })] : []))
  for (const kind of ['api', 'projector'] as const) await Promise.all(stop(kind, stopGraceMs(kind, process.env)))
  await Promise.all([stopLivingContainers(), ...stop('', STORE_GRACE_MS)])
}

function readOptions(args: string[]) {
  // npm sets them when no -- is before an option.
  const taken = Object.keys(OPTIONS).filter((name) => process.env[`npm_config_${name}`])
  if (taken.length > 0)
    throw new Failure(`npm has taken --${taken[0]}: put -- before the options, as in npm start -- --${taken[0]}.`)
  return parseArgs({ args, options: OPTIONS }).values
}

/** Turns Ctrl-C, SIGTERM and SIGHUP into an abort signal. A second signal stops everything at once, after `onSecond`. */
function listenForStop(onSecond: () => void): AbortSignal {
  const stop = new AbortController()
  let firstAt = 0
  function onSignal(name: NodeJS.Signals): void {
    if (!stop.signal.aborted) {
      firstAt = performance.now()
      say(`Stopping (${name}) …`)
      stop.abort(name)
    } else if (performance.now() - firstAt > SAME_REQUEST_MS) {
      say('Stopping everything at once.')
      onSecond()
      killLivingGroups()
      process.exit(1)
    }
  }
  for (const name of END_SIGNALS) process.on(name, onSignal)
  return stop.signal
}
