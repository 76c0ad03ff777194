import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { readRun } from '../local/launch/run-file.mjs'
import { freePort, isPortFree } from '../local/processes/port.mjs'
import { type RunningProcess, startProcess } from '../local/processes/process.mjs'
import { createPlant, readPlant } from './support/client.ts'
import { TOKEN } from './support/plant-store.ts'

const START_MS = 90_000
const STOP_MS = 10_000

it('npm start: a plant outlives a restart, and a kill -9 of launcher and broker; --fresh forgets it', async () => {
  const localDir = mkdtempSync(join(tmpdir(), 'plant-store-test-'))
  onTestFinished(() => rmSync(localDir, { recursive: true }))
  const environment = {
    PATH: process.env.PATH,
    PLANT_STORE_LOCAL_DIR: localDir,
    PLANT_STORE_TOKEN: TOKEN,
    PORT: String(await freePort()),
    OPS_PORT: String(await freePortPair()),
  }

  const first = await npmStart(localDir, environment)
  expect(statSync(join(localDir, 'run.json')).mode & 0o777).toBe(0o600)
  expect((await createPlant(first.url, 1n, 'Monstera')).answer?.status).toBe(200)
  expect((await createPlant(first.url, 1n, 'Monstera')).answer?.body).toMatchObject({ error: 40003 })
  await stop(first.launcher)
  expectNothingLeft(localDir, first.pids)

  const second = await npmStart(localDir, environment)
  expect((await readPlant(second.url, 1n))?.body).toEqual({ name: 'Monstera', tag: 'test' })
  for (const pid of [second.launcher.pid, second.pids.kafka as number]) process.kill(pid, 'SIGKILL')
  await second.launcher.exited

  const third = await npmStart(localDir, environment)
  expect(alive(Object.values(second.pids))).toEqual([])
  expect((await createPlant(third.url, 1n, 'Monstera')).answer?.body).toMatchObject({ error: 40003 })
  await stop(third.launcher)

  const fresh = await npmStart(localDir, environment, '--fresh')
  expect((await readPlant(fresh.url, 1n))?.status).toBe(404)
  await stop(fresh.launcher)
  expectNothingLeft(localDir, fresh.pids)
})

async function npmStart(localDir: string, env: NodeJS.ProcessEnv, ...args: string[]) {
  const command = new URL('../local/start.mjs', import.meta.url).pathname
  const logFile = join(localDir, 'launcher.log')
  const launcher = await startProcess({
    name: 'npm start',
    command: process.execPath,
    args: [command, ...args],
    logFile,
    env,
  })
  onTestFinished(async () => {
    await launcher.stop({ graceMs: STOP_MS })
  })
  const isNew = () => readRun(localDir)?.pids.launcher === launcher.pid
  await vi.waitFor(() => expect(isNew(), readFileSync(logFile, 'utf8')).toBe(true), { timeout: START_MS })
  const { url, pids } = readRun(localDir) as NonNullable<ReturnType<typeof readRun>>
  onTestFinished(() => {
    for (const pid of alive(Object.values(pids))) process.kill(pid, 'SIGKILL')
  })
  return { launcher, url, pids }
}

async function stop(launcher: RunningProcess): Promise<void> {
  expect(await launcher.stop({ graceMs: STOP_MS })).toEqual({ code: 0, signal: null })
}

/** A port whose next one is free too. */
async function freePortPair(): Promise<number> {
  const port = await freePort()
  return (await isPortFree(port + 1, '127.0.0.1')) ? port : freePortPair()
}

function expectNothingLeft(localDir: string, pids: object): void {
  expect(alive(Object.values(pids))).toEqual([])
  expect(readRun(localDir)).toBeUndefined()
}

function alive(pids: number[]): number[] {
  return pids.filter((pid) => {
    try {
      process.kill(pid, 0)
      return true
    } catch {
      return false
    }
  })
}
