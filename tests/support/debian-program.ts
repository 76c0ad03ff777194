import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir } from '../../local/places.mjs'
import { runCommand } from '../../local/processes/command.mjs'
import { withLock } from '../../local/processes/lock.mjs'

const INSTALL_TIMEOUT_MS = 120_000

/**
 * The file at this path of a package of Debian and Ubuntu, which is fetched once and unpacked below `.local`, not
 * installed. Undefined where it cannot be had.
 */
export async function debianProgram(packageName: string, path: string): Promise<string | undefined> {
  const folder = join(cacheDir, packageName)
  const program = join(folder, path)
  if (existsSync(program)) return program
  mkdirSync(folder, { recursive: true })
  await withLock(`${folder}.lock`, { waitTimeoutMs: INSTALL_TIMEOUT_MS }, async (alsoHeldBy) => {
    const options = { cwd: folder, timeoutMs: INSTALL_TIMEOUT_MS, onStart: alsoHeldBy }
    await runCommand('apt-get', ['download', '-qq', packageName], options)
    const file = readdirSync(folder).find((name) => name.endsWith('.deb'))
    if (file !== undefined) await runCommand('dpkg', ['-x', file, '.'], options)
  })
  return existsSync(program) ? program : undefined
}
