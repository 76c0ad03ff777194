import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'
import { withLock } from '../processes/lock.ts'

type Options = { timeoutMs: number; signal?: AbortSignal | undefined }
type Place = { cwd?: string; env?: NodeJS.ProcessEnv; advice?: string }
/** Fills the folder. `run` resolves to the output of a program; when it fails, its Failure ends with the advice. */
type Build = (folder: string, run: (command: string, args: string[], place?: Place) => Promise<string>) => Promise<void>

/**
 * The folder below `.local` with what is built from these files: built at the first call, and again when they change.
 * It is built in place, not renamed afterwards, because a virtual environment of Python contains its own path.
 */
export async function builtOnce(name: string, sources: readonly string[], options: Options, build: Build) {
  // Without sources the name has the version.
  const hash = sources.length > 0 ? `-${shortHash(...sources.map((source) => readFileSync(source)))}` : ''
  const folder = join(cacheDir, `${name}${hash}`)
  const complete = join(folder, 'complete')
  if (existsSync(complete)) return folder
  const { timeoutMs, signal } = options
  await withLock(`${folder}.lock`, { waitTimeoutMs: timeoutMs, signal }, async (onStart) => {
    if (existsSync(complete)) return
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    await build(folder, async (command, args, { advice = '', ...place } = {}) => {
      const { code, output, missing } = await runCommand(command, args, { ...place, timeoutMs, signal, onStart })
      if (missing) throw new Failure(`${command} not found. ${advice}`.trimEnd())
      if (code !== 0) throw new Failure(`${command} could not build ${name}:\n${endOf(output)}\n${advice}`.trimEnd())
      return output
    })
    writeFileSync(complete, '')
  })
  return folder
}

/** A hash of these parts, for the name of a folder. */
export function shortHash(...parts: (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex').slice(0, 12)
}
