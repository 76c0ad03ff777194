import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Run, readRun, writeRun } from '../local/launch/run-file.ts'
import { claim } from '../local/launch/started-record.ts'
import { identify } from '../local/processes/process-identity.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

it('of two that start after a killed launcher, one gets the folder, and the broker that was left ends', async () => {
  const dir = temporaryFolder()
  const left = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  const ended = once(left, 'exit')
  const processes = {
    launcher: { pid: 1, identity: 'of a process that has ended' },
    'kafka-1': { pid: left.pid, identity: identify(left.pid as number) },
  }
  writeFileSync(join(dir, 'started.json.1'), JSON.stringify({ processes }))
  const claims = await Promise.allSettled([claim(dir), claim(dir)])
  expect(claims.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(claims.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { message: expect.stringContaining('Plant Store is already running') },
  })
  expect(await ended).toEqual([null, 'SIGTERM'])
})

it('the file of a run is ignored after a kill -9 of the launcher', async () => {
  const dir = temporaryFolder()
  const launcher = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  const run = { url: 'http://127.0.0.1:3000', pids: { launcher: launcher.pid } } as Partial<Run> as Run
  writeRun(dir, run)
  expect(readRun(dir)).toEqual(run)
  launcher.kill('SIGKILL')
  await once(launcher, 'exit')
  expect(readRun(dir)).toBeUndefined()
})
