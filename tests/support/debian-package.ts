import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir } from '../../local/places.mjs'
import { runCommand } from '../../local/processes/command.ts'
import { withLock } from '../../local/processes/lock.ts'

const INSTALL_TIMEOUT_MS = 120_000
const VERSION_TIMEOUT_MS = 30_000

/**
 * The programs of a package of Debian and Ubuntu, given by their paths there: those on the PATH, or else of the
 * package, which is fetched once and not installed. Undefined, with a warning about what is not tried, where neither
 * can be had.
 */
export async function findPrograms<Name extends string>(
  packageName: string,
  paths: Record<Name, string>,
  what: string,
): Promise<Record<Name, string> | undefined> {
  const names = Object.keys(paths) as Name[]
  const each = (pathOf: (name: Name) => string) =>
    Object.fromEntries(names.map((name) => [name, pathOf(name)])) as Record<Name, string>
  if ((await Promise.all(names.map(isOnPath))).every(Boolean)) return each((name) => name)
  const folder = join(cacheDir, packageName)
  const unpacked = each((name) => join(folder, paths[name]))
  const isThere = () => names.every((name) => existsSync(unpacked[name]))
  if (!isThere()) await unpack(packageName, folder)
  if (isThere()) return unpacked
  console.warn(`${what} not tried: install ${packageName}, so that ${names.join(' and ')} can be found on the PATH.`)
  return undefined
}

const isOnPath = async (program: string) =>
  !(await runCommand(program, ['--version'], { timeoutMs: VERSION_TIMEOUT_MS })).missing

async function unpack(packageName: string, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await withLock(`${folder}.lock`, { waitTimeoutMs: INSTALL_TIMEOUT_MS }, async (alsoHeldBy) => {
    const options = { cwd: folder, timeoutMs: INSTALL_TIMEOUT_MS, onStart: alsoHeldBy }
    await runCommand('apt-get', ['download', '-qq', packageName], options)
    const file = readdirSync(folder).find((name) => name.endsWith('.deb'))
    if (file !== undefined) await runCommand('dpkg', ['-x', file, '.'], options)
  })
}
