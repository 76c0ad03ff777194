import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { Failure } from './failure.mjs'

/** The signals that end a program of a terminal. */
export const END_SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * Runs a program in the foreground: on this terminal, with the signals that this process receives. Resolves to its exit
 * code; when a signal ended it to 128 and the signal's number, as in a shell.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<number>}
 */
export function runForeground(command, args, options) {
  const child = spawn(command, args, { ...options, stdio: 'inherit' })
  /** @param {NodeJS.Signals} signal */
  function pass(signal) {
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
