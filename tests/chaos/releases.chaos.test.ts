import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { cacheDir, root } from '../../local/places.mjs'
import { runStep } from '../support/run-step.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { unlessMissing } from '../support/unless-missing.ts'
import { formerRevision } from './former.ts'
import { ensureToxiproxy } from './toxiproxy.ts'

/** Less than a test may take: the error then shows the output. */
const STEP_LIMIT_MS = 540_000
/** In turn, twice: apis of each release meet projectors of the other. */
const FAULTS = ['--fault', 'apis: change', '--fault', 'projectors: change']
const SCHEDULE = ['--experiments', '1-4', '--seed', '5']
const DECLARATION = 'shared/src/plant/plant.ts'
const AUTHOR = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']

const former = (await unlessMissing('Upgrades were', ensureToxiproxy)) && formerRevision()
if (former === undefined) console.warn('No former release to compare with: upgrades do not run.')

const run = (cwd: string, command: string, ...args: string[]) =>
  runStep(command, args, { cwd, timeoutMs: STEP_LIMIT_MS })

/** Changes between this release in the folder and a former one of it, under load. */
async function changeReleases(folder: string, from: string): Promise<void> {
  const output = await run(folder, 'npm', 'run', 'chaos', '--', '--former', from, ...FAULTS, ...SCHEDULE)
  const changes = [...output.matchAll(/^ {2}\d\. (.*?) \(/gm)].map(([, kind]) => kind)
  expect(changes).toEqual([
    'apis: change to this release',
    'projectors: change to this release',
    'apis: change to the former release',
    'projectors: change to the former release',
  ])
}

it.runIf(former !== undefined)(`keeps every guarantee while this release and ${former} run side by side`, () =>
  changeReleases(root, former as string),
)

it.runIf(former !== undefined)('keeps every guarantee while a field is announced, then accepted', async () => {
  const copy = join(temporaryFolder(), 'copy')
  await run(root, 'git', 'clone', '--quiet', root, copy)
  symlinkSync(cacheDir, join(copy, '.local'))
  for (const presence of ['announced', 'added']) {
    const line = `  origin: text('${presence}', 'Where it comes from', ['Chile'], MAX_TEXT_CODE_POINTS),\n`
    const declared = readFileSync(join(copy, DECLARATION), 'utf8').replace(/^(?: {2}origin: .*\n)?(?=\}$)/m, line)
    writeFileSync(join(copy, DECLARATION), declared)
    await run(copy, 'git', ...AUTHOR, 'commit', '--quiet', '--all', '--message', presence)
  }
  await changeReleases(copy, 'HEAD^')
})
