import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, root } from '../../local/places.mjs'
import { endOf, runCommand } from '../../local/processes/command.mjs'
import { Failure } from '../../local/processes/failure.mjs'

const FOLDER = join(cacheDir, 'schemathesis')
const REQUIREMENTS = join(root, 'tests/contract/requirements.txt')
/** Holds the requirements that were installed, once all of them are. */
const INSTALLED = join(FOLDER, 'installed.txt')
const INSTALL_TIMEOUT_MS = 300_000

/**
 * Installs Schemathesis from PyPI into a virtual environment of its own below `.local`, unless it is there already.
 * Resolves to its command. Throws a Failure that says what to do.
 */
export async function installSchemathesis(): Promise<string> {
  const requirements = readFileSync(REQUIREMENTS, 'utf8')
  if (!existsSync(INSTALLED) || readFileSync(INSTALLED, 'utf8') !== requirements) {
    await requirePython()
    rmSync(FOLDER, { recursive: true, force: true })
    await run('python3', '-m', 'venv', FOLDER)
    await run(join(FOLDER, 'bin/python'), '-m', 'pip', 'install', '--quiet', '--requirement', REQUIREMENTS)
    writeFileSync(INSTALLED, requirements)
  }
  return join(FOLDER, 'bin/schemathesis')
}

async function requirePython(): Promise<void> {
  const isRecent = 'import sys; sys.exit(sys.version_info < (3, 10))'
  const { code } = await runCommand('python3', ['-c', isRecent], { timeoutMs: INSTALL_TIMEOUT_MS })
  if (code !== 0) throw new Failure('Schemathesis needs Python: install python3, 3.10 or newer, with its venv module.')
}

async function run(command: string, ...args: string[]): Promise<void> {
  const { code, output } = await runCommand(command, args, { timeoutMs: INSTALL_TIMEOUT_MS })
  if (code === 0) return
  throw new Failure(`Schemathesis could not be installed: ${command} ${args.join(' ')} said\n${endOf(output)}`)
}
