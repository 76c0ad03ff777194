import { existsSync, mkdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { cacheDir } from '../../local/places.mjs'
import { runCommand } from '../../local/processes/command.mjs'
import { Failure } from '../../local/processes/failure.mjs'
import { withLock } from '../../local/processes/lock.mjs'

const BUILD_TIMEOUT_MS = 900_000
const VERSION_TIMEOUT_MS = 30_000

/** `source`: the package, as `go install` takes it. */
export type GoProgram = { name: string; source: string; version: string }

/** Where it is once it is built. */
export const builtFile = ({ name, source, version }: GoProgram) =>
  join(cacheDir, `${name}-${version}`, basename(source))

/** On the PATH, or where its own archive is unpacked to. */
export async function findGo(): Promise<string | undefined> {
  for (const go of ['go', '/usr/local/go/bin/go'])
    if (!(await runCommand(go, ['version'], { timeoutMs: VERSION_TIMEOUT_MS })).missing) return go
  return undefined
}

/** Builds it with this Go below `.local`, unless it is there. Resolves to its file. */
export async function installGoProgram(program: GoProgram, go: string): Promise<string> {
  const file = builtFile(program)
  await buildOnce(file, program.name, async (build) => {
    await build(go, ['install', `${program.source}@v${program.version}`], { GOBIN: dirname(file) })
  })
  return file
}

type Build = (command: string, args: string[], more?: { GOBIN?: string; cwd?: string }) => Promise<string>

/** Calls `work` unless the file is there. `build` runs a program of it, and resolves to its output. */
export async function buildOnce(file: string, name: string, work: (build: Build) => Promise<void>): Promise<void> {
  mkdirSync(dirname(file), { recursive: true })
  await withLock(`${file}.lock`, { waitTimeoutMs: BUILD_TIMEOUT_MS }, async (alsoHeldBy) => {
    if (existsSync(file)) return
    console.error(`Building ${name} (once) …`)
    await work(async (command, args, { cwd, ...more } = {}) => {
      // Without cgo: as root, Go's probes of gcc can delete /dev/null.
      const env = { ...process.env, CGO_ENABLED: '0', ...more }
      const options = { env, timeoutMs: BUILD_TIMEOUT_MS, onStart: alsoHeldBy, ...(cwd !== undefined && { cwd }) }
      const { code, output } = await runCommand(command, args, options)
      if (code !== 0) throw new Failure(`${command} could not build ${name}:\n${output}`)
      return output
    })
  })
}
