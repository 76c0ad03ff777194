import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cacheDir } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'
import { withLock } from '../processes/lock.mjs'

const lookTimeoutMs = 30_000
const buildTimeoutMs = 1_800_000

/** @typedef {{ source: string, version: string, program: string }} GoProgram the path of a main package; its file */

/**
 * @param {GoProgram} wanted
 * @returns {string} where it is when it has been built
 */
export const pathOfBuilt = ({ source, version, program }) =>
  join(cacheDir, 'go', `${source.replaceAll('/', '-')}-${version}`, program)

/**
 * Builds a program of the Go module proxy, once.
 *
 * @param {GoProgram} wanted
 * @returns {Promise<string | undefined>} its path; undefined when there is no Go
 * @throws {Failure}
 */
export async function ensureBuilt(wanted) {
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

/**
 * @callback Run runs a program of Go and resolves to its output
 * @param {string} command
 * @param {string[]} args
 * @param {{ GOBIN?: string, cwd?: string }} [more]
 * @returns {Promise<string>}
 */

/**
 * Calls `work` unless the file that it builds is there.
 *
 * @param {string} file
 * @param {string} name
 * @param {(run: Run) => Promise<void>} work
 * @throws {Failure}
 */
export async function buildOnce(file, name, work) {
  mkdirSync(dirname(file), { recursive: true })
  await withLock(`${dirname(file)}.lock`, { waitTimeoutMs: buildTimeoutMs }, async (alsoHeldBy) => {
    if (existsSync(file)) return
    console.error(`Building ${name} (once) …`)
    await work(async (command, args, { cwd, ...more } = {}) => {
      // Without cgo: as root, Go's probes of gcc can delete /dev/null.
      const env = { ...process.env, CGO_ENABLED: '0', ...more }
      const options = { env, timeoutMs: buildTimeoutMs, onStart: alsoHeldBy, ...(cwd !== undefined && { cwd }) }
      const { code, output } = await runCommand(command, args, options)
      if (code !== 0) throw new Failure(`${command} could not build ${name}:\n${endOf(output)}`)
      return output
    })
  })
}

/**
 * On the PATH, or where its own archive is unpacked to.
 *
 * @returns {Promise<string | undefined>}
 */
export async function findGo() {
  for (const go of ['go', '/usr/local/go/bin/go'])
    if (!(await runCommand(go, ['version'], { timeoutMs: lookTimeoutMs })).missing) return go
  return undefined
}
