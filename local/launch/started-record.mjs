import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '../processes/failure.mjs'
import { identify } from '../processes/process-identity.mjs'
import { createWhole, writeWhole } from '../processes/whole-file.mjs'
import { readRun, removeRun } from './run-file.mjs'

/**
 * `started.json`: the processes one `npm start` has started, from its first moment on, itself included. It
 * keeps a second `npm start` away from the same data, and lets the next one end what a launcher that was
 * killed has left running. Pids alone would not do: the system gives them out again.
 *
 * @typedef {Record<string, { pid: number, identity: string }>} Started
 */

/**
 * @param {string} localDir
 * @param {(names: string[]) => void} onLeftovers told before what an earlier launcher left running is ended
 * @returns {Promise<{ add: (name: string, pid: number) => void, remove: () => void }>}
 * @throws {Failure} when another launcher is at work there
 */
export async function claim(localDir, onLeftovers) {
  const file = join(localDir, 'started.json')
  /** @type {Started} */
  const started = { launcher: { pid: process.pid, identity: String(identify(process.pid)) } }
  const maxAttempts = 5
  for (let attempt = 0; !createWhole(file, JSON.stringify(started)); attempt += 1) {
    if (attempt === maxAttempts)
      throw new Failure(`Another npm start begins at the same time in ${localDir}.`)
    const earlier = read(file)
    const { launcher } = earlier
    if (isAlive(launcher)) throw alreadyRunning(localDir, launcher.pid)
    await endLeftovers(earlier, onLeftovers)
    removeRun(localDir)
    rmSync(file, { force: true })
  }
  return {
    add(name, pid) {
      started[name] = { pid, identity: String(identify(pid)) }
      writeWhole(file, JSON.stringify(started))
    },
    remove: () => rmSync(file, { force: true }),
  }
}

/**
 * @param {string} localDir
 * @param {number} pid
 */
function alreadyRunning(localDir, pid) {
  const run = readRun(localDir)
  const where = run ? `at ${run.url}` : 'and still starting'
  return new Failure(
    `Plant Store is already running ${where} (pid ${pid}). Stop it with Ctrl-C there or \`kill ${pid}\`, ` +
      'or set PLANT_STORE_LOCAL_DIR, PORT and OPS_PORT for a second one.',
  )
}

/**
 * @param {Started} earlier
 * @param {(names: string[]) => void} onLeftovers
 */
async function endLeftovers(earlier, onLeftovers) {
  const alive = Object.entries(earlier).filter(([, entry]) => isAlive(entry))
  if (alive.length === 0) return
  onLeftovers(alive.map(([name]) => name))
  // The services first: with their stores gone they would only complain. Nobody waits for their answers any more.
  const { kafka, redis, ...services } = earlier
  await endAll(Object.values(services), { graceMs: 1000 })
  await endAll([kafka, redis], { graceMs: 4000 })
}

/**
 * @param {(Started[string] | undefined)[]} started
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
      throw new Failure(`Left over from an earlier npm start and not to be ended: pids ${pids.join(', ')}.`)
    }
    await delay(50)
  }
}

/**
 * @param {Started[string]} entry
 * @param {NodeJS.Signals} signal
 */
function end(entry, signal) {
  try {
    if (isAlive(entry)) process.kill(entry.pid, signal)
  } catch {
    // It ended in between.
  }
}

/**
 * @param {Started[string] | undefined} entry
 * @returns {entry is Started[string]}
 */
const isAlive = (entry) => entry !== undefined && identify(entry.pid) === entry.identity

/**
 * @param {string} file
 * @returns {Started}
 */
const read = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {})
