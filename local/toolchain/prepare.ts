import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, root } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'
import { withLock } from '../processes/lock.ts'
import { findProcesses } from '../processes/process-identity.ts'

/** For an installation, and for the end of another one. */
const TIMEOUT_MS = 600_000
const OPTIONS = ['--include=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
/** Errors of the file system. npm 10.4 and older write ERR! for error. */
const OF_A_FILE = /code (EACCES|EPERM|EROFS|ENOTDIR|ENOENT|EEXIST|ENOSPC|EDQUOT)$[\s\S]*?npm (?:error|ERR!) path (.+)$/m

/** The entry of one package in a lockfile. */
type Locked = {
  version?: string
  link?: boolean
  resolved?: string
  dev?: boolean
  optional?: boolean
  devOptional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
}

/**
 * Brings node_modules of the project, or of a separate package in `folder`, in line with package-lock.json, if it is not
 * yet; also after a pull has changed the lockfile. It never removes packages for development, and installs them if
 * `dev`. Throws a Failure.
 */
export async function ensureInstalled({ dev, folder = root }: { dev: boolean; folder?: string }): Promise<void> {
  if (isInstalled(folder, dev)) return
  await withLock(join(cacheDir, 'install.lock'), { waitTimeoutMs: TIMEOUT_MS }, async (onStart) => {
    if (isInstalled(folder, dev)) return
    // They load packages when they start again, some also later.
    const services = findProcesses(['api', 'projector'].map((kind) => join(folder, 'services', kind, 'src', 'main.ts')))
    if (services.length > 0)
      throw new Failure(
        `Packages in ${folder} have to be installed, but services run from there (pid ${services.join(', ')}): ` +
          'stop npm start and other services, and try again. The installation deletes what they load.',
      )
    const hasDev = Object.values(installedIn(folder)).some((locked) => locked.dev)
    const args = ['ci', dev || hasDev ? '--include=dev' : '--omit=dev', ...OPTIONS]
    const { code, output, missing } = await runCommand('npm', args, { cwd: folder, timeoutMs: TIMEOUT_MS, onStart })
    if (missing) throw new Failure('npm not found: install Node 24 or newer, npm comes with it.')
    if (code !== 0) throw new Failure(`npm could not install the packages of ${folder}: ${remedyOf(output)}`)
    // On a full disk npm succeeds with parts of the files.
    if (Object.keys(installedIn(folder)).length === 0)
      throw new Failure(`npm could not install the packages of ${folder} completely: free space on its disk.`)
  })
}

function isInstalled(folder: string, dev: boolean): boolean {
  const installed = installedIn(folder)
  return Object.entries(readLock(folder, 'package-lock.json')).every(([path, locked]) => {
    if (!path.includes('node_modules/')) return true
    if (locked.dev && !dev) return true
    const present = installed[path]
    // Optional ones are for other platforms, mostly. A container may share the folder with a host of another platform.
    if (!present) return (locked.optional && !isForHere(locked)) || (locked.devOptional && !dev)
    const isSame = locked.link ? present.resolved === locked.resolved : present.version === locked.version
    return isSame && existsSync(join(folder, path))
  })
}

/** False also for a package that needs a certain libc: Node does not say which one is here. */
const isForHere = ({ os, cpu, libc }: Locked) =>
  libc === undefined && os?.includes(process.platform) && cpu?.includes(process.arch)

/** npm writes node_modules/.package-lock.json when it is done: an interrupted install lacks it. */
const installedIn = (folder: string) => readLock(folder, 'node_modules/.package-lock.json')

function readLock(folder: string, path: string): Record<string, Locked> {
  const file = join(folder, path)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {}
}

/** The advice that follows from the output of an npm that failed. */
export function remedyOf(output: string): string {
  const [, reason, path] = OF_A_FILE.exec(output) ?? []
  if (path === undefined) return `if the registry cannot be reached, try again later.\n${endOf(output)}`
  return `npm cannot use ${path} (${reason}). Make it usable, or set npm_config_cache to a folder that npm can write to.`
}
