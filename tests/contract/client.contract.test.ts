import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../local/places.mjs'
import { runCommand } from '../../local/processes/command.ts'
import { startPlantStore, TOKEN } from '../support/plant-store.ts'

const FOLDER = join(root, 'tests/contract/client')
const STEP_TIMEOUT_MS = 120_000

it('a client generated from docs/openapi.yaml compiles strictly, and works', async () => {
  const { url } = (await startPlantStore()).api
  await step('npm', ['ci'])
  await step('npm', ['run', 'generate'])
  await step('npm', ['run', 'check'])
  await step('node', ['try-operations.ts'], { BASE_URL: url, TOKEN })
})

async function step(command: string, args: string[], env: Record<string, string> = {}): Promise<void> {
  const options = { timeoutMs: STEP_TIMEOUT_MS, cwd: FOLDER, env: { ...process.env, ...env } }
  const { code, output } = await runCommand(command, args, options)
  expect(code, `${command} ${args.join(' ')}\n${output}`).toBe(0)
}
