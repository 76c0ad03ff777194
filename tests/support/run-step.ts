import { expect } from 'vitest'
import { runCommand } from '../../local/processes/command.ts'

type Place = { cwd: string; env?: NodeJS.ProcessEnv; timeoutMs?: number }

/** Runs a program that has to succeed, with these variables besides those of this process. Resolves to its output. */
export async function runStep(command: string, args: string[], { cwd, env, timeoutMs = 300_000 }: Place) {
  const { code, output } = await runCommand(command, args, { timeoutMs, cwd, env: { ...process.env, ...env } })
  expect(code, `${command} ${args.join(' ')}\n${output}`).toBe(0)
  return output
}
