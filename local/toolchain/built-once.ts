import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir } from '../places.mjs'
import { withLock } from '../processes/lock.ts'

type Options = { waitTimeoutMs: number; signal?: AbortSignal | undefined }
/** Fills the folder. Names each program that does so, for the lock. */
type Build = (folder: string, onStart: (pid: number) => void) => Promise<void>

/**
 * The folder below `.local` with what is built from these files: built at the first call, and again when they change.
 * It is built in place, not renamed afterwards, because a virtual environment of Python contains its own path.
 */
export async function builtOnce(name: string, sources: readonly string[], options: Options, build: Build) {
  const hash = createHash('sha256')
  for (const source of sources) hash.update(readFileSync(source))
  const folder = join(cacheDir, `${name}-${hash.digest('hex').slice(0, 12)}`)
  const complete = join(folder, 'complete')
  if (existsSync(complete)) return folder
  await withLock(`${folder}.lock`, options, async (onStart) => {
    if (existsSync(complete)) return
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    await build(folder, onStart)
    writeFileSync(complete, '')
  })
  return folder
}
