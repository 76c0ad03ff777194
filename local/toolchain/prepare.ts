import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, root } from '../places.mjs'
import { Failure } from '../processes/failure.mjs'
import { withLock } from '../processes/lock.ts'
import { findProcesses } from '../processes/process-identity.ts'
import { npm } from './npm.ts'

const WAIT_TIMEOUT_MS = 600_000

/** The entry of one package in a lockfile. */
type Locked = {
  version?: string
  link?: boolean
  resolved?: string
  dev?: boolean
  optional?: boolean
  devOptional?: boolean
}

/**
 * Brings node_modules of the project, or of a separate package in `folder`, in line with package-lock.json, if it is not
 * yet; also after a pull has changed the lockfile. It never removes packages for development, and installs them if
 * `dev`. Throws a Failure.
 */
export async function ensureInstalled({ dev, folder = root }: { dev: boolean; folder?: string }): Promise<void> {
  if (isInstalled(folder, dev)) return
  await withLock(join(cacheDir, 'install.lock'), { waitTimeoutMs: WAIT_TIMEOUT_MS }, async (onStart) => {
    if (isInstalled(folder, dev)) return
    // They load packages when they start again, some also later.
    const services = findProcesses(['api', 'projector'].map((kind) => join(folder, 'services', kind, 'src', 'main.ts')))
    if (services.length > 0)
      throw new Failure(
        `Packages in ${folder} have to be installed, but services run from there (pid ${services.join(', ')}): ` +
          'stop npm start and other services, and try again. The installation deletes what they load.',
      )
    const hasDev = Object.values(installedIn(folder)).some((locked) => locked.dev)
    await npm(['ci', dev || hasDev ? '--include=dev' : '--omit=dev'], folder, onStart)
  })
}

function isInstalled(folder: string, dev: boolean): boolean {
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

/** npm writes node_modules/.package-lock.json when it is done: an interrupted install lacks it. */
const installedIn = (folder: string) => readLock(folder, 'node_modules/.package-lock.json')

function readLock(folder: string, path: string): Record<string, Locked> {
  const file = join(folder, path)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {}
}
