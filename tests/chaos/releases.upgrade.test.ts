import { expect, it } from 'vitest'
import { runCommand } from '../../local/processes/command.mjs'
import { formerRevision } from './former.ts'
import { hasToxiproxy } from './toxiproxy.ts'

const MAIN = new URL('main.ts', import.meta.url).pathname
const LIMIT_MS = 600_000
/** With this seed each kind of service changes alone: apis of each release meet projectors of the other. */
const SEED = 5
const EXPERIMENTS = '1-4'

const former = (await hasToxiproxy()) ? formerRevision() : undefined
if (former === undefined)
  console.warn('No former release to compare with (or neither toxiproxy-server nor Go): upgrades do not run.')

it.runIf(former !== undefined)(
  `keeps every guarantee while this release and ${former} run side by side`,
  async () => {
    const args = ['--former', former as string, '--fault', ' release', '--experiments', EXPERIMENTS]
    const all = [MAIN, ...args, '--minutes', '4', '--seed', String(SEED)]
    const { code, output } = await runCommand(process.execPath, all, { timeoutMs: LIMIT_MS })
    expect(code, output).toBe(0)
    // Which changes follow from the seed may change with the list of faults: then choose another one.
    const changes = [...output.matchAll(/^ {2}\d\. (.*?) \(/gm)].map(([, kind]) => kind)
    expect(changes).toEqual([
      'services: change to the other release',
      'projectors: change to the former release',
      'projectors: change to this release',
      'apis: change to the former release',
    ])
  },
  LIMIT_MS,
)
