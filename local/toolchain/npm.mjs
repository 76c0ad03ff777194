import { endOf, runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'

const timeoutMs = 600_000
const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
/** Errors of the file system. npm 10.4 and older write ERR! for error. */
const ofAFile = /code (EACCES|EPERM|EROFS|ENOTDIR|ENOENT|EEXIST|ENOSPC|EDQUOT)$[\s\S]*?npm (?:error|ERR!) path (.+)$/m

/**
 * Installs packages from the registry.
 *
 * @param {string[]} args
 * @param {{ cwd: string, what: string, onStart: (pid: number) => void }} options what: is installed
 * @throws {Failure} that says what to change
 */
export async function npm(args, { what, ...options }) {
  const { code, output, missing } = await runCommand('npm', [...args, ...quiet], { ...options, timeoutMs })
  if (missing) throw new Failure('npm not found: install Node 24 or newer, npm comes with it.')
  if (code !== 0) throw new Failure(`npm could not install ${what}: ${remedyOf(output)}`)
}

/** @param {string} output of an npm that failed */
export function remedyOf(output) {
  const [, reason, path] = ofAFile.exec(output) ?? []
  if (path === undefined) return `if the registry cannot be reached, try again later.\n${endOf(output)}`
  return `npm cannot use ${path} (${reason}). Make it usable, or set npm_config_cache to a folder that npm can write to.`
}
