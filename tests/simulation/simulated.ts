import { fileURLToPath } from 'node:url'
import { runCommand } from '../../local/processes/command.ts'

export const LIMIT_MS = 600_000

/** The output of `npm run simulate`. */
export async function simulate(...args: string[]): Promise<string> {
  const program = fileURLToPath(new URL('simulate.ts', import.meta.url))
  return (await runCommand(process.execPath, [program, ...args], { timeoutMs: LIMIT_MS })).output
}
