import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { Failure } from './failure.mjs'

/**
 * Runs a program in our place: on our terminal, with the signals we are sent.
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
    // Ctrl-C in a terminal has reached the program already; twice would mean "at once" to some.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
  }
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
  for (const signal of signals) process.on(signal, pass)
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Failure(`${command} could not be started: ${error.message}`)))
    child.once('exit', (code, signal) => {
      for (const name of signals) process.off(name, pass)
      resolve(code ?? 128 + (signal ? constants.signals[signal] : 0))
    })
  })
}
