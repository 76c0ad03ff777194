import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../processes/command.ts'
import { builtOnce, folderOf } from './built-once.ts'

const LOOK_TIMEOUT_MS = 30_000
const BUILD = { timeoutMs: 1_800_000 }

/** The path of a main package, and its file. */
type GoProgram = { source: string; version: string; program: string }

const nameOf = ({ source, version }: GoProgram) => `go/${source.replaceAll('/', '-')}-${version}`

export const pathOfBuilt = (wanted: GoProgram) => join(folderOf(nameOf(wanted)), wanted.program)

/** Builds a program of the Go module proxy, once. Resolves to its path; undefined when there is no Go. */
export async function ensureBuilt(wanted: GoProgram): Promise<string | undefined> {
  const built = pathOfBuilt(wanted)
  if (existsSync(built)) return built
  const go = await findGo()
  if (go === undefined) return undefined
  const source = `${wanted.source}@${wanted.version}`
  console.error(`Building ${source} (once) …`)
  await builtOnce(nameOf(wanted), [], BUILD, async (folder, run) => {
    await run(go, ['install', source], { env: { ...goEnvironment(), GOBIN: folder } })
  })
  return built
}

/** Without cgo: as root, Go's probes of gcc can delete /dev/null. */
export const goEnvironment = () => ({ ...process.env, CGO_ENABLED: '0' })

/** On the PATH, or where its own archive is unpacked to. */
export async function findGo(): Promise<string | undefined> {
  for (const go of ['go', '/usr/local/go/bin/go'])
    if (!(await runCommand(go, ['version'], { timeoutMs: LOOK_TIMEOUT_MS })).missing) return go
  return undefined
}
