import { existsSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { cacheDir, root } from '../places.mjs'
import { Failure } from '../processes/failure.mjs'
import { withLock } from '../processes/lock.mjs'
import { findProcesses } from '../processes/process-identity.mjs'
import { npm } from './npm.mjs'

/**
 * The entry of one package in a lockfile.
 * @typedef {{ version?: string, link?: boolean, resolved?: string,
 *   dev?: boolean, optional?: boolean, devOptional?: boolean }} Locked
 */

/**
 * Brings node_modules in line with package-lock.json, if it is not yet; also after a pull has changed the lockfile. It
 * never removes packages for development.
 *
 * @param {{ dev: boolean, folder?: string }} options dev: whether the packages for development are needed; folder: of a
 *   separate package, the project's unless given
 * @throws {Failure}
 */
export async function ensureInstalled({ dev, folder = root }) {
  if (isInstalled(folder, dev)) return
  await withLock(join(cacheDir, 'install.lock'), { waitTimeoutMs: 600_000 }, async (onStart) => {
    if (isInstalled(folder, dev)) return
    // They load packages when they start again, some also later.
    const services = findProcesses(join(folder, 'services') + sep)
    if (services.length > 0)
      throw new Failure(
        `Packages in ${folder} have to be installed, but services run from there (pid ${services.join(', ')}): ` +
          'stop npm start and other services, and try again. The installation deletes what they load.',
      )
    const hasDev = Object.values(installedIn(folder)).some((locked) => locked.dev)
    const args = ['ci', ...(dev || hasDev ? [] : ['--omit=dev'])]
    await npm(args, { cwd: folder, what: `the packages of ${folder}`, onStart })
  })
}

/** @param {string} folder @param {boolean} dev */
function isInstalled(folder, dev) {
  const installed = installedIn(folder)
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
 */
const installedIn = (folder) => readLock(folder, 'node_modules/.package-lock.json')

/**
 * @param {string} folder
 * @param {string} path
 * @returns {Record<string, Locked>}
 */
function readLock(folder, path) {
  const file = join(folder, path)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {}
}
