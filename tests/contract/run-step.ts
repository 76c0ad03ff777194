import { expect } from 'vitest'
import { runCommand } from '../../local/processes/command.ts'

const TIMEOUT_MS = 300_000

/** Runs a program that has to succeed. Resolves to its output. */
export async function runStep(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv = {}) {
  const options = { timeoutMs: TIMEOUT_MS, cwd, env: { ...process.env, ...env } }
  const { code, output } = await runCommand(command, args, options)
  expect(code, `${command} ${args.join(' ')}\n${output}`).toBe(0)
  return output
}
