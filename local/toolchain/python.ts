import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir } from '../places.mjs'
import { endOf, runCommand } from '../processes/command.mjs'
import { Failure } from '../processes/failure.mjs'

const INSTALL_TIMEOUT_MS = 300_000

/**
 * Installs requirements from PyPI into a separate virtual environment below `.local`, unless they are there already.
 * Resolves to the folder of their commands. Throws a Failure that says what to do.
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
  return join(folder, 'bin')
}

/** Checks for a Python that can install requirements. */
export async function hasPython(): Promise<boolean> {
  const isRecent = 'import sys, venv; sys.exit(sys.version_info < (3, 10))'
  return (await runCommand('python3', ['-c', isRecent], { timeoutMs: INSTALL_TIMEOUT_MS })).code === 0
}

async function requirePython(name: string): Promise<void> {
  if (!(await hasPython()))
    throw new Failure(`${name} needs Python: install python3, 3.10 or newer, with its venv module.`)
}

async function run(name: string, command: string, ...args: string[]): Promise<void> {
  const { code, output } = await runCommand(command, args, { timeoutMs: INSTALL_TIMEOUT_MS })
  if (code === 0) return
  throw new Failure(`${name} could not be installed: ${command} ${args.join(' ')} said\n${endOf(output)}`)
}
