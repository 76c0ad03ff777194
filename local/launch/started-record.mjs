import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '../processes/failure.mjs'
import { take } from '../processes/lock.mjs'
import { identify } from '../processes/process-identity.mjs'
import { createContainers, whyNoDocker } from '../stores/docker.mjs'
import { readRun, removeRun } from './run-file.mjs'

/**
 * The lock `started.json`: everything that one `npm start` has started, including itself, from its first moment on. It keeps a
 * second `npm start` from using the same data, and lets the next one stop what a killed launcher left running. Pids
 * alone would not do, because the system reuses them.
 *
 * @typedef {{ pid: number, identity: string }} Process
 * @typedef {{ processes: Record<string, Process>, dockerProject?: string }} Started
 */

/** Names in a cluster have numbers. */
const STORE = /^(kafka|redis|sentinel)/

/**
 * @param {string} localDir
 * @param {(names: string[]) => void} onLeftovers called before the leftovers of an earlier launcher are stopped
 * @throws {Failure} when another launcher runs there
 */
export async function claim(localDir, onLeftovers) {
  /** @type {Started} */
  const started = { processes: { launcher: { pid: process.pid, identity: String(identify(process.pid)) } } }
  /** @type {Process | undefined} */
  let launcher
  const lock = take(join(localDir, 'started.json'), JSON.stringify(started), (text) => {
    launcher = read(text).processes.launcher
    return isAlive(launcher)
  })
  if (lock === undefined) throw alreadyRunning(localDir, launcher?.pid)
  for (const text of lock.earlier) await endLeftovers(read(text), onLeftovers)
  lock.forgetEarlier()
  removeRun(localDir)
  const write = () => lock.write(JSON.stringify(started))
  return {
    /** @param {string} name @param {number} pid */
    add(name, pid) {
      started.processes[name] = { pid, identity: String(identify(pid)) }
      write()
    },
    /** @param {string} project */
    addContainers(project) {
      started.dockerProject = project
      write()
    },
    remove: lock.release,
  }
}

/**
 * @param {string} localDir
 * @param {number | undefined} pid
 */
function alreadyRunning(localDir, pid) {
  const run = readRun(localDir)
  const where = run ? `at ${run.url}` : 'and still starting'
  return new Failure(
    `Plant Store is already running ${where} (pid ${pid}). Stop it with Ctrl-C there or \`kill ${pid}\`, ` +
      'or set PLANT_STORE_LOCAL_DIR and use --port for a second one.',
  )
}

/**
 * @param {Started} earlier
 * @param {(names: string[]) => void} onLeftovers
 */
async function endLeftovers(earlier, onLeftovers) {
  const alive = Object.entries(earlier.processes).filter(([, entry]) => isAlive(entry))
  // Without an engine there are no containers any more.
  const containers =
    earlier.dockerProject && !(await whyNoDocker()) ? createContainers(earlier.dockerProject) : undefined
  if (alive.length === 0 && !containers) return
  onLeftovers([...alive.map(([name]) => name), ...(containers ? ['Kafka and Redis in Docker'] : [])])
  // The services first: without their stores they would only log errors. No client waits for their responses.
  const of = (/** @type {boolean} */ areStores) =>
    alive.filter(([name]) => STORE.test(name) === areStores).map(([, entry]) => entry)
  await endAll(of(false), { graceMs: 1000 })
  await Promise.all([containers?.stop(), endAll(of(true), { graceMs: 4000 })])
}

/**
 * @param {(Process | undefined)[]} started
 * @param {{ graceMs: number }} limit after which SIGTERM is followed by SIGKILL
 */
async function endAll(started, { graceMs }) {
  const entries = started.filter(isAlive)
  const killTimeoutMs = 2000
  const start = Date.now()
  for (const entry of entries) end(entry, 'SIGTERM')
  while (entries.some(isAlive)) {
    const elapsedMs = Date.now() - start
    if (elapsedMs > graceMs) for (const entry of entries) end(entry, 'SIGKILL')
    if (elapsedMs > graceMs + killTimeoutMs) {
      const pids = entries.filter(isAlive).map(({ pid }) => pid)
      throw new Failure(
        `Processes of an earlier npm start cannot be stopped: end these pids yourself: ${pids.join(', ')}.`,
      )
    }
    await delay(50)
  }
}

/**
 * @param {Process} entry
 * @param {NodeJS.Signals} signal
 */
function end(entry, signal) {
  try {
    if (isAlive(entry)) process.kill(entry.pid, signal)
  } catch {
    // It has ended in the meantime.
  }
}

/**
 * @param {Process | undefined} entry
 * @returns {entry is Process}
 */
const isAlive = (entry) => entry !== undefined && identify(entry.pid) === entry.identity

/**
 * @param {string} text
 * @returns {Started}
 */
const read = (text) => (text === '' ? { processes: {} } : JSON.parse(text))
