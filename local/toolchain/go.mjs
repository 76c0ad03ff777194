import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'
import { withLock } from '../processes/lock.mjs'

const lookTimeoutMs = 30_000
const installTimeoutMs = 600_000

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
  const folder = join(built, '..')
  mkdirSync(folder, { recursive: true })
  await withLock(`${folder}.lock`, { waitTimeoutMs: installTimeoutMs }, async (alsoHeldBy) => {
    if (existsSync(built)) return
    const source = `${wanted.source}@${wanted.version}`
    console.error(`Building ${source} (once) …`)
    // Without cgo: as root, Go's probes of gcc can delete /dev/null.
    const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' }
    const options = { env, timeoutMs: installTimeoutMs, onStart: alsoHeldBy }
    const { code, output } = await runCommand(go, ['install', source], options)
    if (code !== 0) throw new Failure(`${go} could not build ${source}:\n${endOf(output)}`)
  })
  return built
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
