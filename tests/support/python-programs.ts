import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir } from '../../local/places.mjs'
import { endOf, runCommand } from '../../local/processes/command.mjs'
import { Failure } from '../../local/processes/failure.mjs'

const INSTALL_TIMEOUT_MS = 300_000

/**
 * Installs requirements from PyPI into a virtual environment of their own below `.local`, unless they are there already.
 * Resolves to the command with this name. Throws a Failure that says what to do.
 */
export async function installPython(name: string, requirementsFile: string): Promise<string> {
  const folder = join(cacheDir, name)
  // Holds the requirements that were installed, once all of them are.
  const installed = join(folder, 'installed.txt')
  const requirements = readFileSync(requirementsFile, 'utf8')
  if (!existsSync(installed) || readFileSync(installed, 'utf8') !== requirements) {
    await requirePython(name)
    rmSync(folder, { recursive: true, force: true })
    await run(name, 'python3', '-m', 'venv', folder)
    await run(name, join(folder, 'bin/python'), '-m', 'pip', 'install', '--quiet', '--requirement', requirementsFile)
    writeFileSync(installed, requirements)
  }
  return join(folder, 'bin', name)
}

async function requirePython(name: string): Promise<void> {
  const isRecent = 'import sys; sys.exit(sys.version_info < (3, 10))'
  const { code } = await runCommand('python3', ['-c', isRecent], { timeoutMs: INSTALL_TIMEOUT_MS })
  if (code !== 0) throw new Failure(`${name} needs Python: install python3, 3.10 or newer, with its venv module.`)
}

async function run(name: string, command: string, ...args: string[]): Promise<void> {
  const { code, output } = await runCommand(command, args, { timeoutMs: INSTALL_TIMEOUT_MS })
  if (code === 0) return
  throw new Failure(`${name} could not be installed: ${command} ${args.join(' ')} said\n${endOf(output)}`)
}
