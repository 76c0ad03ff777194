import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from './failure.mjs'
import { lastLines } from './log-file.mjs'

/**
 * The end of a process: exactly one of the two is set.
 * @typedef {{ code: number | null, signal: NodeJS.Signals | null }} Exit
 *
 * @typedef {object} RunningProcess
 * @property {string} name
 * @property {number} pid
 * @property {string} logFile
 * @property {number} logStart where this process's part of the log file starts, in bytes
 * @property {Promise<Exit>} exited never rejects
 * @property {(limit: { graceMs: number }) => Promise<Exit>} stop SIGTERM, after graceMs SIGKILL; resolves
 *   when the process is really gone; may be called more than once
 */

/** @type {Set<number>} */
const livingGroups = new Set()

/**
 * Starts a program that keeps running, with both its outputs appended to a log file.
 *
 * It is detached, that is, leads its own process group: Ctrl-C in a terminal reaches every process of the foreground
 * group at once, and what we start must be stopped by us, in order.
 *
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.command
 * @param {string[]} options.args
 * @param {string} options.logFile
 * @param {string} [options.cwd]
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {{ uid?: number, gid?: number }} [options.user] whom it runs as; only root may choose
 * @returns {Promise<RunningProcess>}
 * @throws {Failure} when there is no such program
 */
export async function startProcess({ name, command, args, logFile, cwd, env, user }) {
  mkdirSync(dirname(logFile), { recursive: true })
  const log = openSync(logFile, 'a')
  const logStart = statSync(logFile).size
  const child = spawn(command, args, { ...user, cwd, env, detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  if (child.pid === undefined) {
    const [error] = await once(child, 'error')
    throw new Failure(`${name} could not be started: ${error.message}`)
  }
  const pid = child.pid
  const exited = trackGroup(child, pid)
  return { name, pid, logFile, logStart, exited, stop: ({ graceMs }) => stopGroup(pid, exited, graceMs) }
}

/**
 * Makes a detached child known to killLivingGroups until it ends.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @param {number} pid
 * @returns {Promise<Exit>}
 */
export function trackGroup(child, pid) {
  livingGroups.add(pid)
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      livingGroups.delete(pid)
      resolve({ code, signal })
    })
  })
}

/**
 * SIGTERM, and after graceMs SIGKILL, to the whole group: some programs are started through a wrapper.
 *
 * @param {number} pid
 * @param {Promise<Exit>} exited
 * @param {number} graceMs
 * @returns {Promise<Exit>}
 */
export async function stopGroup(pid, exited, graceMs) {
  if (!livingGroups.has(pid)) return exited
  signalGroup(pid, 'SIGTERM')
  const timer = setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs)
  return exited.finally(() => clearTimeout(timer))
}

/** The last resort: ends everything started here at once, without waiting. */
export function killLivingGroups() {
  for (const pid of livingGroups) signalGroup(pid, 'SIGKILL')
}

/**
 * Waits until a process just started is ready, and ends it again when that does not happen.
 *
 * @param {RunningProcess} running
 * @param {object} options
 * @param {() => Promise<boolean> | boolean} options.isReady called every 50 ms
 * @param {number} options.startTimeoutMs
 * @param {AbortSignal | undefined} [options.signal]
 * @param {() => string} [options.why] what is known about a start that takes too long
 * @throws {Failure} when it ended or did not become ready in time, with the last lines of its log
 */
export async function untilReady(running, { isReady, startTimeoutMs, signal, why = () => '' }) {
  const { name, logFile, logStart } = running
  const logged = () => `\n${lastLines(logFile, { from: logStart })}\nThe whole log: ${logFile}`
  const deadline = Date.now() + startTimeoutMs
  /** @type {Exit | undefined} */
  let exit
  void running.exited.then((end) => {
    exit = end
  })
  try {
    while (!(await isReady())) {
      signal?.throwIfAborted()
      if (exit) throw new Failure(`${name} ended while starting (${describeExit(exit)}):${logged()}`)
      if (Date.now() > deadline) {
        throw new Failure(`${name} was not ready after ${startTimeoutMs / 1000} s:${why()}${logged()}`)
      }
      await delay(50)
    }
  } catch (error) {
    await running.stop({ graceMs: 1000 })
    throw error
  }
}

/** @param {Exit} exit */
export function describeExit({ code, signal }) {
  return signal ? `signal ${signal}` : `exit code ${code}`
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal)
  } catch {
    // The group is gone already.
  }
}
