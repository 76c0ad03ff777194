import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { readRun } from '../local/launch/run-file.ts'
import { root } from '../local/places.mjs'
import { freePort } from '../local/processes/port.ts'
import { startProcess } from '../local/processes/process.ts'
import { runStep } from './support/run-step.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const FIELDS = ['customer:text', 'note:text?', 'priority:int64?', 'size:int64', 'state:enum(open|paid)']
const TIMEOUT_MS = 1_200_000
const START_MS = 600_000
const STOP_MS = 20_000
/** For the first commit, on machines without an author. */
const AUTHOR = Object.fromEntries(
  ['AUTHOR', 'COMMITTER'].flatMap((who) => [
    [`GIT_${who}_NAME`, 'test'],
    [`GIT_${who}_EMAIL`, 'test@example.com'],
  ]),
)

const run = (cwd: string, command: string, ...args: string[]) =>
  runStep(command, args, { cwd, env: AUTHOR, timeoutMs: TIMEOUT_MS })

it('a service of another name, with further fields, passes its checks and tests, and stores orders', async () => {
  const [parent, folder] = [temporaryFolder(), 'orders']
  const copy = join(parent, folder)
  const fields = FIELDS.flatMap((field) => ['--field', field])
  await run(root, 'npm', 'run', 'scaffold', '--', '--name', 'order', '--plural', 'orders', ...fields, copy)
  expect(await run(copy, 'git', 'status', '--porcelain')).toBe('')
  expect(await run(copy, 'git', 'log', '--format=%s')).toBe('Scaffold a service for orders\n')

  // The unit tests have a short simulation.
  for (const script of ['check', 'test:unit']) await run(copy, 'npm', 'run', script)

  const port = String(await freePort())
  const logFile = join(parent, 'npm-start.log')
  const args = ['start', '--', '--with', 'processes', '--port', port]
  const started = await startProcess({ name: 'npm start', command: 'npm', args, cwd: copy, logFile })
  onTestFinished(async () => {
    await started.stop({ graceMs: STOP_MS })
  })
  const log = () => readFileSync(logFile, 'utf8')
  await vi.waitFor(() => expect(readRun(join(copy, '.local')), log()).toBeDefined(), { timeout: START_MS })
  await vi.waitFor(() => expect(log()).toContain('Create an order:'))
  const create = /^ {2}(curl -i \S+\/orders .*)$/m.exec(log())?.[1] ?? ''
  const send = (...[before, after]: [string, string]) => run(copy, 'sh', '-c', create.replace(before, after))
  expect(await send('', '')).toMatch(
    /HTTP\/1\.1 200 .*"customer":"customer 1","size":1,"state":"open",.*"note":"note 1","priority":1\}/s,
  )
  expect(await send('', '')).toMatch(/HTTP\/1\.1 400 .*"error":40003/s)
  expect(await send('"state":"open"', '"state":"lost"')).toMatch(/"error":40002.*state/s)
  expect(await send('"customer"', '"buyer"')).toMatch(/"error":40002.*customer is missing/s)
  expect(await send('"id":1,', '"id":2,')).toMatch(/HTTP\/1\.1 200 /)
  expect(await run(copy, 'npm', 'run', '-s', 'orderctl', '--', 'verify')).toContain('2 orders')
})
