import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join, sep } from 'node:path'
import { root } from '../places.mjs'
import { Failure } from '../processes/failure.mjs'
import { withLock } from '../processes/lock.mjs'
import { killLivingGroups } from '../processes/process.mjs'
import { findProcesses } from '../processes/process-identity.mjs'
import { sideBySide } from '../processes/side-by-side.mjs'
import { ensureNode } from './node.mjs'
import { npm } from './npm.mjs'

const reportAfterMs = 1000

/**
 * Installs what a program needs that is then run in the foreground. A signal to stop ends the installation and this
 * process.
 *
 * @param {object} options
 * @param {boolean} options.dev whether the packages for development are needed
 * @param {string | undefined} [options.extraFolder] the folder of another package whose packages are needed, too
 * @returns {Promise<string>} the path of Node
 */
export async function prepare({ dev, extraFolder }) {
  const timer = setTimeout(() => console.error('Installing Node and packages (once) …'), reportAfterMs)
  /** @param {NodeJS.Signals} signal */
  const leave = (signal) => {
    killLivingGroups()
    process.exit(128 + constants.signals[signal])
  }
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
  for (const signal of signals) process.on(signal, leave)
  try {
    const [node] = await sideBySide(
      new AbortController().signal,
      (signal) => ensureNode({ signal }),
      (signal) => ensureInstalled({ dev, signal }),
    )
    if (extraFolder !== undefined) await ensureInstalled({ dev, folder: extraFolder })
    return node
  } finally {
    clearTimeout(timer)
    for (const signal of signals) process.off(signal, leave)
  }
}

/**
 * The entry of one package in a lockfile.
 * @typedef {{ version?: string, link?: boolean, resolved?: string,
 *   dev?: boolean, optional?: boolean, devOptional?: boolean }} Locked
 */

/**
 * Brings node_modules in line with package-lock.json, if it is not yet; also after a pull has changed the lockfile. It
 * never removes packages for development.
 *
 * @param {object} options
 * @param {boolean} options.dev whether the packages for development are needed
 * @param {string} [options.folder] of a separate package; the project's unless given
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<void>}
 * @throws {Failure}
 */
export async function ensureInstalled({ dev, folder = root, signal }) {
  if (isInstalled(folder, dev)) return
  const lock = { waitTimeoutMs: 600_000, signal }
  await withLock(join(root, '.local', 'install.lock'), lock, async (alsoHeldBy) => {
    if (isInstalled(folder, dev)) return
    // They load packages when they start again, some also later.
    const services = findProcesses(join(folder, 'services') + sep)
    if (services.length > 0)
      throw new Failure(
        `Packages in ${folder} have to be installed, but services run from there (pid ${services.join(', ')}): ` +
          'stop npm start and other services, and try again. The installation deletes what they load.',
      )
    const installed = readLock(folder, 'node_modules/.package-lock.json')
    const hasDev = Object.values(installed).some((locked) => locked.dev)
    const args = ['ci', ...(dev || hasDev ? [] : ['--omit=dev'])]
    await npm(args, { cwd: folder, what: `the packages of ${folder}`, signal, onStart: alsoHeldBy })
  })
}

/**
 * @param {string} folder
 * @param {boolean} dev
 */
function isInstalled(folder, dev) {
  const installed = readLock(folder, 'node_modules/.package-lock.json')
  return Object.entries(readLock(folder, 'package-lock.json')).every(([path, locked]) => {
    if (!path.includes('node_modules/')) return true
    if (locked.dev && !dev) return true
    const present = installed[path]
    // Optional ones are for other platforms, mostly.
    if (!present) return locked.optional || (locked.devOptional && !dev)
    const isSame = locked.link ? present.resolved === locked.resolved : present.version === locked.version
    return isSame && existsSync(join(folder, path))
  })
}

/**
 * npm writes node_modules/.package-lock.json when it is done: an interrupted install lacks it.
 *
 * @param {string} folder
 * @param {string} path
 * @returns {Record<string, Locked>}
 */
function readLock(folder, path) {
  const file = join(folder, path)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {}
}
