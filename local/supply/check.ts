import { basename, join } from 'node:path'
import { root } from '../places.mjs'
import { runCommand } from '../processes/command.ts'
import { describe, runProgram } from '../processes/failure.mjs'
import { ensureBuilt } from '../toolchain/go.ts'
import { installPython } from '../toolchain/python.ts'

// Checks what the project is delivered by: looks for secrets in all commits, and checks the workflows and the
// Dockerfiles. A check whose tool cannot be had is left out, and said to be.

const TIMEOUT_MS = 300_000
const REQUIREMENTS = join(root, 'local/supply/requirements.txt')
const GITLEAKS = { source: 'github.com/zricethezav/gitleaks/v8', version: 'v8.30.1', program: 'gitleaks' }
const ACTIONLINT = { source: 'github.com/rhysd/actionlint/cmd/actionlint', version: 'v1.7.12', program: 'actionlint' }

await runProgram(main)

async function main(): Promise<number> {
  const ofPython = async (tool: string) => join(await installPython('supply', REQUIREMENTS), tool)
  const findings = [
    await check('secrets', ensureBuilt(GITLEAKS), ['git', '--no-banner', '--redact', '--verbose', '.']),
    await check('workflows', ensureBuilt(ACTIONLINT), []),
    await check('workflows', ofPython('zizmor'), ['--offline', '--pedantic', '--quiet', '.github']),
    await check('Dockerfiles', ofPython('hadolint'), ['Dockerfile', '.devcontainer/Dockerfile']),
  ]
  return findings.every(Boolean) ? 0 : 1
}

async function check(what: string, installing: Promise<string>, args: string[]): Promise<boolean> {
  let tool: string
  try {
    tool = await installing
  } catch (error) {
    console.warn(`${what}: not checked, because its tool is not here: ${describe(error)}`)
    return !process.env.CI
  }
  const { code, output } = await runCommand(tool, args, { cwd: root, timeoutMs: TIMEOUT_MS })
  console.log(`${what}: ${code === 0 ? 'no findings' : 'findings'} of ${basename(tool)}`)
  if (code !== 0) process.stdout.write(output)
  return code === 0
}
