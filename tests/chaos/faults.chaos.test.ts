import { expect, it } from 'vitest'
import { runCommand } from '../../local/processes/command.ts'
import { unlessMissing } from '../support/unless-missing.ts'
import { ensureToxiproxy } from './toxiproxy.ts'

const MAIN = new URL('main.ts', import.meta.url).pathname
const RUN_LIMIT_MS = 540_000
/** More: the error of a run that hangs then shows its output. */
const LIMIT_MS = 600_000

const toxiproxy = await unlessMissing('Chaos was', ensureToxiproxy)

it.runIf(toxiproxy !== undefined)(
  'keeps every guarantee while processes, links and stores fail',
  async () => {
    const args = [MAIN, '--minutes', '1', '--seed', '1']
    const { code, output } = await runCommand(process.execPath, args, { timeoutMs: RUN_LIMIT_MS })
    expect(code, output).toBe(0)
  },
  LIMIT_MS,
)
