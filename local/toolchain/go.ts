import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cacheDir } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'
import { withLock } from '../processes/lock.ts'

const LOOK_TIMEOUT_MS = 30_000
const BUILD_TIMEOUT_MS = 1_800_000

/** The path of a main package, and its file. */
type GoProgram = { source: string; version: string; program: string }

export const pathOfBuilt = ({ source, version, program }: GoProgram) =>
  join(cacheDir, 'go', `${source.replaceAll('/', '-')}-${version}`, program)

/** Builds a program of the Go module proxy, once. Resolves to its path; undefined when there is no Go. */
export async function ensureBuilt(wanted: GoProgram): Promise<string | undefined> {
  const built = pathOfBuilt(wanted)
  if (existsSync(built)) return built
  const go = await findGo()
  if (go === undefined) return undefined
  const source = `${wanted.source}@${wanted.version}`
  await buildOnce(built, source, async (run) => {
    await run(go, ['install', source], { GOBIN: dirname(built) })
  })
  return built
}

/** Runs a program of Go and resolves to its output. */
type Run = (command: string, args: string[], more?: { GOBIN?: string; cwd?: string }) => Promise<string>

/** Calls `work` unless the file that it builds is there. Throws a Failure. */
export async function buildOnce(file: string, name: string, work: (run: Run) => Promise<void>): Promise<void> {
  mkdirSync(dirname(file), { recursive: true })
  await withLock(`${dirname(file)}.lock`, { waitTimeoutMs: BUILD_TIMEOUT_MS }, async (onStart) => {
    if (existsSync(file)) return
    console.error(`Building ${name} (once) …`)
    await work(async (command, args, { cwd, ...more } = {}) => {
      // Without cgo: as root, Go's probes of gcc can delete /dev/null.
      const env = { ...process.env, CGO_ENABLED: '0', ...more }
      const options = { env, timeoutMs: BUILD_TIMEOUT_MS, onStart, ...(cwd !== undefined && { cwd }) }
      const { code, output } = await runCommand(command, args, options)
      if (code !== 0) throw new Failure(`${command} could not build ${name}:\n${endOf(output)}`)
      return output
    })
  })
}

/** On the PATH, or where its own archive is unpacked to. */
export async function findGo(): Promise<string | undefined> {
  for (const go of ['go', '/usr/local/go/bin/go'])
    if (!(await runCommand(go, ['version'], { timeoutMs: LOOK_TIMEOUT_MS })).missing) return go
  return undefined
}
