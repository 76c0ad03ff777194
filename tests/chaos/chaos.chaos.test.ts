import { expect, it } from 'vitest'
import { runCommand } from '../../local/processes/command.mjs'

const MAIN = new URL('main.ts', import.meta.url).pathname
const LIMIT_MS = 600_000

it.each([1])(
  'keeps every guarantee while processes, links and stores fail (seed %i)',
  async (seed) => {
    const args = [MAIN, '--minutes', '1', '--seed', String(seed)]
    const { code, output } = await runCommand(process.execPath, args, { timeoutMs: LIMIT_MS })
    expect(code, output).toBe(0)
  },
  LIMIT_MS,
)
