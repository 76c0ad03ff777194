import { join } from 'node:path'
import { runCommand } from '../processes/command.ts'
import { Failure } from '../processes/failure.mjs'
import { builtOnce } from './built-once.ts'

const TIMEOUT_MS = 300_000

/**
 * Installs requirements from PyPI into a separate virtual environment below `.local`, unless they are there already.
 * Resolves to the folder of their commands. Throws a Failure that says what to do.
 */
export async function installPython(name: string, requirements: string): Promise<string> {
  const environment = await builtOnce(name, [requirements], { timeoutMs: TIMEOUT_MS }, async (folder, run) => {
    const isRecent = 'import sys, venv; sys.exit(sys.version_info < (3, 10))'
    if ((await runCommand('python3', ['-c', isRecent], { timeoutMs: TIMEOUT_MS })).code !== 0)
      throw new Failure(`${name} needs Python: install python3, 3.10 or newer, with its venv module.`)
    await run('python3', ['-m', 'venv', folder])
    await run(join(folder, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--requirement', requirements])
  })
  return join(environment, 'bin')
}
