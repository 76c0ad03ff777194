import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { root } from '../../local/places.mjs'
import { endOf, runCommand } from '../../local/processes/command.ts'
import { installPython } from '../../local/toolchain/python.ts'
import { type ClientResponse, createPlant, send } from '../support/client.ts'
import { startPlantStore, TOKEN } from '../support/plant-store.ts'

/** The duration of fuzzing and of sequences of requests. */
const MAX_SECONDS = 100
const TIMEOUT_MS = 300_000
const SUMMARY_LINES = 13
const PLANTS_BEFORE = 60

// All of Schemathesis's checks and phases, with valid and invalid data. SCHEMATHESIS_SEED repeats a run.
it('responds to any request as its description says', async () => {
  const commands = await installPython('schemathesis', join(root, 'tests/contract/requirements.txt'))
  const schemathesis = join(commands, 'schemathesis')
  const { url } = (await startPlantStore()).api
  const seed = process.env.SCHEMATHESIS_SEED ?? String(randomInt(2 ** 32))
  const { code, output } = await runCommand(
    schemathesis,
    [
      ...['run', `${url}/openapi.json`, '--header', `Authorization: Bearer ${TOKEN}`],
      ...['--checks', 'all', '--mode', 'all', '--phases', 'examples,coverage,fuzzing,stateful'],
      ...['--continue-on-failure', '--max-time', String(MAX_SECONDS), '--seed', seed],
      ...['--no-color', '--output-truncate', 'false', '--output-sanitize', 'false'],
    ],
    {
      timeoutMs: TIMEOUT_MS,
      // It keeps what it found for its next run there.
      cwd: inject('testRun'),
      env: {
        ...process.env,
        PYTHONPATH: join(root, 'tests/contract'),
        PYTHONDONTWRITEBYTECODE: '1',
        SCHEMATHESIS_HOOKS: 'schemathesis_hooks',
        PLANTS_POSITIONS: (await someBefore(url)).join(' '),
        PLANTS_CURSORS: (await cursorsOf(url)).join(' '),
      },
    },
  )
  console.log(endOf(output, SUMMARY_LINES))
  expect(code, `SCHEMATHESIS_SEED=${seed} npm run test:contract repeats it.\n${output}`).toBe(0)
})

/** Creates some plants, and resolves to their positions. */
async function someBefore(url: string): Promise<string[]> {
  const positions: string[] = []
  for (let id = -1n; id >= -PLANTS_BEFORE; id--) {
    const { response } = await createPlant(url, id, `plant ${id}`)
    positions.push(String(response?.headers['plants-position']))
  }
  return positions
}

/** Some `next` of lists. */
function cursorsOf(url: string): Promise<string[]> {
  const limits = [1, 2, 10, PLANTS_BEFORE - 1]
  return Promise.all(
    limits.map(async (limit) => {
      const response = await send(`${url}/plants?limit=${limit}`, {})
      return ((response as ClientResponse).body as { next: string }).next
    }),
  )
}
