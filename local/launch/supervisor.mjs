import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, Failure } from '../processes/failure.mjs'
import { lastError } from '../processes/log-file.mjs'
import { describeExit } from '../processes/process.mjs'

/**
 * @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess
 * @typedef {(signal: AbortSignal) => Promise<RunningProcess>} Start
 */

/** EX_CONFIG of sysexits.h: a restart does not help, a person has to change something. */
const exitConfiguration = 78
/** A process that ends more often than this within the time is not restarted. */
const maxEnds = 5
const endsCountMs = 60_000

/**
 * Restarts processes that end unexpectedly.
 *
 * @param {object} options
 * @param {(text: string) => void} options.say
 * @param {(running: RunningProcess) => void} options.onRunning called with each process that runs, also after a restart
 * @param {(error: Error) => void} options.onGiveUp called when a process cannot be kept running
 */
export function createSupervisor({ say, onRunning, onGiveUp }) {
  const releasing = new AbortController()
  const { signal } = releasing
  const released = new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined)))
  /** @type {Map<string, RunningProcess>} */
  const kept = new Map()
  /** @type {Promise<void>[]} */
  const watches = []

  /**
   * @param {RunningProcess} running
   * @param {Start} start
   */
  async function watch(running, start) {
    const { name, logFile } = running
    const nextDelayMs = createRestartPolicy()
    kept.set(name, running)
    onRunning(running)
    while (!signal.aborted) {
      const exit = await Promise.race([running.exited, released])
      if (!exit || signal.aborted) return
      if (exit.code === exitConfiguration) throw cannotRun(running, 'cannot run until its configuration is changed')
      say(`! ${name} ended unexpectedly (${describeExit(exit)}), restarting it. Its log: ${logFile}`)
      running = await startAgain(running, start, { nextDelayMs, signal, say })
      kept.set(name, running)
      onRunning(running)
      say(`  ${name} runs again (pid ${running.pid})`)
    }
  }

  /**
   * @param {RunningProcess} running
   * @param {Start} start restarts it
   */
  function keep(running, start) {
    const watching = watch(running, start).catch((error) => {
      if (!signal.aborted) onGiveUp(error)
    })
    watches.push(watching)
  }

  /**
   * Ends all restarts.
   *
   * @returns {Promise<Map<string, RunningProcess>>} the running processes by name, for the caller to stop
   */
  async function release() {
    releasing.abort()
    await Promise.all(watches)
    return kept
  }

  return { keep, release }
}

/**
 * @param {RunningProcess} ended
 * @param {Start} start
 * @param {{ nextDelayMs: () => number, signal: AbortSignal, say: (text: string) => void }} options
 */
async function startAgain(ended, start, { nextDelayMs, signal, say }) {
  while (true) {
    const delayMs = nextDelayMs()
    if (delayMs === Infinity) {
      throw cannotRun(ended, `ended more than ${maxEnds} times within ${endsCountMs / 1000} s and is not restarted`)
    }
    await delay(delayMs, undefined, { signal })
    try {
      return await start(signal)
    } catch (error) {
      signal.throwIfAborted()
      say(`! ${describe(error)}`)
    }
  }
}

/**
 * @returns {() => number} the wait before the next restart, called at each unexpected end. It grows each time, because
 *   the process may need another one that is restarting itself. Infinity: no further restart.
 */
function createRestartPolicy() {
  /** @type {number[]} */
  let ends = []
  return () => {
    const now = performance.now()
    ends = [...ends.filter((end) => now - end < endsCountMs), now]
    return ends.length > maxEnds ? Infinity : 125 * 2 ** ends.length
  }
}

/**
 * @param {RunningProcess} ended
 * @param {string} what
 */
function cannotRun({ name, logFile, logStart }, what) {
  const error = lastError(logFile, { from: logStart })
  return new Failure(`${name} ${what}. Its last error:\n${error}\nIts log: ${logFile}`)
}
