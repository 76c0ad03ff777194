import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { endOf } from '../local/processes/command.ts'
import { describe } from '../local/processes/failure.mjs'
import { type Exit, untilReady } from '../local/processes/process.ts'
import { findProcesses, startOf } from '../local/processes/process-identity.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const stat = (state: string, threads: number) =>
  `20063 (a (b) c) ${state} 20060 20060 31801 0 -1 4227084 3042 6562 1 0 5 4 6 3 20 0 ${threads} 0 1861668 0 0 1844674407`

it('a killed process is alive until its last thread has released its resources', () => {
  expect([stat('S', 11), stat('Z', 2), stat('Z', 1)].map(startOf)).toEqual(['1861668', '1861668', undefined])
})

function processThat(exited: Promise<Exit>) {
  const stop = async () => ({ code: 0, signal: null })
  return { name: 'redis', pid: 1, logFile: join(temporaryFolder(), 'log'), logStart: 0, exited, stop }
}

it('a process that has ended is not ready, even if another one responds on its port', async () => {
  const ended = processThat(Promise.resolve({ code: 1, signal: null }))
  const ready = untilReady(ended, { isReady: async () => true, startTimeoutMs: 1000 })
  await expect(ready).rejects.toThrow('redis ended while starting (exit code 1)')
})

it('a jump of the clock does not end a start', async () => {
  const answers = [false, true]
  function isReady(): boolean {
    vi.setSystemTime(Date.now() + 3_600_000)
    return answers.shift() as boolean
  }
  onTestFinished(() => void vi.useRealTimers())
  vi.useFakeTimers({ toFake: ['Date'] })
  await untilReady(processThat(new Promise(() => {})), { isReady, startTimeoutMs: 60_000 })
  expect(answers).toEqual([])
})

it('a program is found by a whole argument', async () => {
  const program = join(temporaryFolder(), 'services/api/src/main.ts')
  const started = [program, `${program}.notes`].map((argument) =>
    spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', argument], { stdio: 'ignore' }),
  )
  onTestFinished(() => started.forEach((child) => void child.kill()))
  await Promise.all(started.map((child) => once(child, 'spawn')))
  expect(findProcesses([program, '/nowhere'])).toEqual([started[0]?.pid])
})

it.each([
  [{ code: 'ENOSPC', syscall: 'write' }, 'A file cannot be written: the disk is full: free space.'],
  [{ code: 'EACCES', syscall: 'open', path: '/a/run.json' }, '/a/run.json: you may not use it: correct its owner.'],
])('an error of the file system is shown with its remedy: %o', (error, shown) => {
  expect(describe(Object.assign(new Error('of the system'), error))).toBe(shown)
})

it('of an exception the reason is shown, not where it was thrown', () => {
  const frames = Array.from({ length: 20 }, (_, n) => `\tat kafka.Frame.m(Frame.scala:${n})\n`).join('')
  expect(endOf(`Exception in thread "main": the reason\n${frames}`)).toBe('  Exception in thread "main": the reason')
})
