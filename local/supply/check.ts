import { basename, join } from 'node:path'
import { root } from '../places.mjs'
import { runCommand } from '../processes/command.ts'
import { runProgram } from '../processes/failure.mjs'
import { ensureBuilt } from '../toolchain/go.ts'
import { hasPython, installPython } from '../toolchain/python.ts'

// Checks what the project is delivered by: looks for secrets in all commits, and checks the workflows and the
// Dockerfiles. A check whose tool cannot be had is left out, and said to be.

const TIMEOUT_MS = 300_000
const REQUIREMENTS = join(root, 'local/supply/requirements.txt')
const GITLEAKS = { source: 'github.com/zricethezav/gitleaks/v8', version: 'v8.30.1', program: 'gitleaks' }
const ACTIONLINT = { source: 'github.com/rhysd/actionlint/cmd/actionlint', version: 'v1.7.12', program: 'actionlint' }

await runProgram(main)

async function main(): Promise<number> {
  const python = (await hasPython()) ? await installPython('supply', REQUIREMENTS) : undefined
  const findings = [
    await check('secrets', await ensureBuilt(GITLEAKS), ['git', '--no-banner', '--redact', '--verbose', '.']),
    await check('workflows', await ensureBuilt(ACTIONLINT), []),
    await check('workflows', python && join(python, 'zizmor'), ['--offline', '--pedantic', '--quiet', '.github']),
    await check('Dockerfiles', python && join(python, 'hadolint'), ['Dockerfile', '.devcontainer/Dockerfile']),
  ]
  return findings.every(Boolean) ? 0 : 1
}

async function check(what: string, tool: string | undefined, args: string[]): Promise<boolean> {
  if (tool === undefined) {
    console.warn(`${what}: not checked, because neither the tool nor what installs it is here (Go; Python with venv).`)
    return !process.env.CI
  }
  const { code, output } = await runCommand(tool, args, { cwd: root, timeoutMs: TIMEOUT_MS })
  console.log(`${what}: ${code === 0 ? 'no findings' : 'findings'} of ${basename(tool)}`)
  if (code !== 0) process.stdout.write(output)
  return code === 0
}
