import { PROGRAMS } from '../../examples/programs.mjs'
import { runCommand } from '../../local/processes/command.mjs'

const TIMEOUT_MS = 120_000

/** Runs an example to its end, as `npm run example` does. Resolves to the lines that it printed. */
export async function runExample(
  name: string,
  args: readonly string[],
  settings: NodeJS.ProcessEnv = {},
): Promise<string[]> {
  const program = await PROGRAMS[name]?.()
  if (program === undefined) throw new Error(`there is no example ${name}`)
  const { code, output } = await runCommand(program.command, [...program.args, ...args], {
    timeoutMs: TIMEOUT_MS,
    env: { ...process.env, ...settings },
  })
  if (code !== 0) throw new Error(`example ${name} ended with exit code ${code}:\n${output}`)
  return output.trimEnd().split('\n')
}
