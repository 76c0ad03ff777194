import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { identify } from '../local/processes/process-identity.ts'
import { eventually } from '../tests/support/eventually.ts'

const STORES = new URL('stores.ts', import.meta.url)
const PROCESS = new URL('../local/processes/process.ts', import.meta.url)

/** Starts a process that would outlive it, prints that, and gets a second signal while it exits by the first. */
const BROKEN_OFF_TWICE = `
  process.once('exit', () => process.kill(process.pid, 'SIGTERM'))
  const { openOwnRun } = await import('${STORES.href}')
  const { startProcess } = await import('${PROCESS.href}')
  const { run } = openOwnRun()
  const { pid } = await startProcess({ name: 'sleep', command: 'sleep', args: ['60'], logFile: run + '/sleep.log', env: process.env })
  console.log(pid)
  process.kill(process.pid, 'SIGTERM')
`

it('the processes of a benchmark end with it, also after a second signal', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', BROKEN_OFF_TWICE], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = await Promise.all([text(child.stdout), once(child, 'exit')])
  const pid = Number(said)
  try {
    expect(child.exitCode).toBe(128 + 15)
    expect(pid).toBeGreaterThan(0)
    await eventually(() => expect(identify(pid)).toBe(undefined))
  } finally {
    if (identify(pid) !== undefined) process.kill(pid, 'SIGKILL')
  }
})
