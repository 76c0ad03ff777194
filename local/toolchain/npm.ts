import { endOf, runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'

const TIMEOUT_MS = 600_000
const QUIET = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
/** Errors of the file system. npm 10.4 and older write ERR! for error. */
const OF_A_FILE = /code (EACCES|EPERM|EROFS|ENOTDIR|ENOENT|EEXIST|ENOSPC|EDQUOT)$[\s\S]*?npm (?:error|ERR!) path (.+)$/m

/** Installs packages from the registry into a folder. Throws a Failure that says what to change. */
export async function npm(args: string[], folder: string, onStart: (pid: number) => void): Promise<void> {
  const options = { cwd: folder, timeoutMs: TIMEOUT_MS, onStart }
  const { code, output, missing } = await runCommand('npm', [...args, ...QUIET], options)
  if (missing) throw new Failure('npm not found: install Node 24 or newer, npm comes with it.')
  if (code !== 0) throw new Failure(`npm could not install the packages of ${folder}: ${remedyOf(output)}`)
}

/** The advice that follows from the output of an npm that failed. */
export function remedyOf(output: string): string {
  const [, reason, path] = OF_A_FILE.exec(output) ?? []
  if (path === undefined) return `if the registry cannot be reached, try again later.\n${endOf(output)}`
  return `npm cannot use ${path} (${reason}). Make it usable, or set npm_config_cache to a folder that npm can write to.`
}
