import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { Failure } from './failure.mjs'
import { stopGroup, trackGroup } from './group.mjs'

/**
 * @typedef {object} CommandOptions
 * @property {number} timeoutMs
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {AbortSignal | undefined} [signal] ends the program
 * @property {((pid: number) => void) | undefined} [onStart]
 */

/**
 * Runs a program to its end.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {CommandOptions} options
 * @returns {Promise<{ code: number | null, output: string, missing: boolean }>} output: stdout and stderr as
 *   they came; missing: there is no such program (then code is null)
 * @throws {Failure} when it took longer than timeoutMs
 */
export async function runCommand(command, args, { timeoutMs, signal, onStart, ...options }) {
  signal?.throwIfAborted()
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const { pid } = child
  if (pid === undefined) {
    await once(child, 'error')
    return { code: null, output: '', missing: true }
  }
  const exited = trackGroup(child, pid)
  const closed = once(child, 'close')
  onStart?.(pid)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const limit = AbortSignal.timeout(timeoutMs)
  const stop = () => void stopGroup(pid, exited, 1000)
  for (const each of [limit, signal]) each?.addEventListener('abort', stop)
  const { code } = await exited
  for (const each of [limit, signal]) each?.removeEventListener('abort', stop)
  signal?.throwIfAborted()
  await closed
  if (limit.aborted)
    throw new Failure(`${command} was ended: it took longer than ${timeoutMs / 1000} s.\n${endOf(output)}`.trimEnd())
  return { code, output, missing: false }
}

/** The signals that end a program of a terminal. */
export const END_SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * Runs a program in the foreground: on this terminal, with the signals that this process receives.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv }} options
 * @returns {Promise<number>} its exit code; when a signal ended it 128 and the signal's number, as in a shell
 */
export function runForeground(command, args, options) {
  const child = spawn(command, args, { ...options, stdio: 'inherit' })
  /** @param {NodeJS.Signals} signal */
  const pass = (signal) => {
    // Ctrl-C in a terminal has reached the program already; some programs take a second one for "at once".
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
  }
  for (const signal of END_SIGNALS) process.on(signal, pass)
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Failure(`${command} could not be started: ${error.message}`)))
    child.once('exit', (code, signal) => {
      for (const name of END_SIGNALS) process.off(name, pass)
      resolve(code ?? 128 + (signal ? constants.signals[signal] : 0))
    })
  })
}

/** A stack frame of Java or JavaScript. The message is before it. */
const frame = /^\s+(at |\.\.\. \d+ (more|common frames))/

/**
 * @param {string} text
 * @param {number} [count]
 * @returns {string} the last lines that are not blank, indented; without stack frames
 */
export function endOf(text, count = 8) {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !frame.test(line))
  return lines
    .slice(-count)
    .map((line) => `  ${line}`)
    .join('\n')
}
