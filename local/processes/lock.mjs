import { readFileSync, rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from './failure.mjs'
import { identify } from './process-identity.mjs'
import { createWhole, writeWhole } from './whole-file.mjs'

/**
 * Runs work that only one process at a time may do; the others wait. A lock is ignored when all its holders have ended.
 *
 * @template T
 * @param {string} file
 * @param {object} options
 * @param {number} options.waitTimeoutMs
 * @param {AbortSignal | undefined} [options.signal] ends the waiting
 * @param {(alsoHeldBy: (pid: number) => void) => Promise<T>} work alsoHeldBy names a program doing the work,
 *   which goes on when we are killed
 * @returns {Promise<T>}
 */
export async function withLock(file, { waitTimeoutMs, signal }, work) {
  const deadline = Date.now() + waitTimeoutMs
  const own = holder(process.pid)
  while (!take(file, own)) {
    signal?.throwIfAborted()
    if (Date.now() > deadline) {
      throw new Failure(`Another process holds the lock ${file}: wait for its end. If there is none, remove the file.`)
    }
    await delay(100)
  }
  try {
    return await work((pid) => writeWhole(file, own + holder(pid)))
  } finally {
    rmSync(file, { force: true })
  }
}

/** @param {number} pid */
const holder = (pid) => `${pid} ${identify(pid)}\n`

/**
 * @param {string} file
 * @param {string} own
 */
function take(file, own) {
  // Created with its content, so that no process reads a lock without its holder.
  if (createWhole(file, own)) return true
  if (!isHeld(file)) rmSync(file, { force: true })
  return false
}

/** @param {string} file */
function isHeld(file) {
  try {
    const holders = readFileSync(file, 'utf8').trim().split('\n')
    return holders.some((line) => {
      const [pid, ...identity] = line.split(' ')
      return identify(Number(pid)) === identity.join(' ')
    })
  } catch {
    return false
  }
}
