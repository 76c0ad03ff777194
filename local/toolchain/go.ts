import { join } from 'node:path'
import { runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'
import { builtOnce } from './built-once.ts'

const LOOK_TIMEOUT_MS = 30_000
const BUILD = { timeoutMs: 1_800_000 }

/** The path of a main package, and its file. */
type GoProgram = { source: string; version: string; program: string }

/** Builds a program of the Go module proxy, once. Resolves to its path. Throws a Failure that says what to install. */
export async function ensureBuilt({ source, version, program }: GoProgram): Promise<string> {
  const name = `go/${source.replaceAll('/', '-')}-${version}`
  const built = await builtOnce(name, [], BUILD, async (folder, run) => {
    const go = await findGo()
    console.error(`Building ${source}@${version} (once) …`)
    await run(go, ['install', `${source}@${version}`], { env: { ...goEnvironment(), GOBIN: folder } })
  })
  return join(built, program)
}

/** Without cgo: as root, Go's probes of gcc can delete /dev/null. */
export const goEnvironment = () => ({ ...process.env, CGO_ENABLED: '0' })

/** On the PATH, or where its own archive is unpacked to. Throws a Failure when it is not there. */
export async function findGo(): Promise<string> {
  for (const go of ['go', '/usr/local/go/bin/go'])
    if (!(await runCommand(go, ['version'], { timeoutMs: LOOK_TIMEOUT_MS })).missing) return go
  throw new Failure('install Go 1.21 or newer, which builds the programs that are needed.')
}
