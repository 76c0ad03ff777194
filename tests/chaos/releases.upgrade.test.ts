import { expect, it } from 'vitest'
import { runCommand } from '../../local/processes/command.ts'
import { formerRevision } from './former.ts'
import { hasToxiproxy } from './toxiproxy.ts'

const MAIN = new URL('main.ts', import.meta.url).pathname
const LIMIT_MS = 600_000
/** In turn, twice: apis of each release meet projectors of the other. */
const FAULTS = ['--fault', 'apis: change', '--fault', 'projectors: change']
const SCHEDULE = ['--experiments', '1-4', '--minutes', '4', '--seed', '5']

const former = (await hasToxiproxy()) ? formerRevision() : undefined
if (former === undefined)
  console.warn('No former release to compare with (or neither toxiproxy-server nor Go): upgrades do not run.')

it.runIf(former !== undefined)(
  `keeps every guarantee while this release and ${former} run side by side`,
  async () => {
    const args = ['--former', former as string, ...FAULTS, ...SCHEDULE]
    const { code, output } = await runCommand(process.execPath, [MAIN, ...args], { timeoutMs: LIMIT_MS })
    expect(code, output).toBe(0)
    const changes = [...output.matchAll(/^ {2}\d\. (.*?) \(/gm)].map(([, kind]) => kind)
    expect(changes).toEqual([
      'apis: change to this release',
      'projectors: change to this release',
      'apis: change to the former release',
      'projectors: change to the former release',
    ])
  },
  LIMIT_MS,
)
