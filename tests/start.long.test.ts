import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { type Run, readRun } from '../local/launch/run-file.mjs'
import { projectOf } from '../local/launch/stores.mjs'
import { freePort } from '../local/processes/port.mjs'
import { type RunningProcess, startProcess } from '../local/processes/process.mjs'
import { createContainers } from '../local/stores/docker.mjs'
import { createPlant, readPlant } from './support/client.ts'
import { freePortPair } from './support/free-port-pair.ts'
import { TOKEN } from './support/plant-store.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import { processEnvironment, registerGroup, registerProcess, registerProject } from './support/test-run.ts'

const START_MS = 90_000
const STOP_MS = 10_000

const source = inject('storeSource')
/** Nothing listens here: with this as DOCKER_HOST there is no Docker. */
const NOWHERE = 'tcp://127.0.0.1:1'

it('npm start: a plant survives a restart and a kill -9 of launcher and broker; --fresh deletes it', async () => {
  const { localDir, environment } = await setting()

  const first = await npmStart(localDir, environment)
  expect(first.dockerProject === undefined).toBe(source === 'processes')
  expect(statSync(join(localDir, 'run.json')).mode & 0o777).toBe(0o600)
  expect((await createPlant(first.url, 1n, 'Monstera')).response?.status).toBe(200)
  expect((await createPlant(first.url, 1n, 'Monstera')).response?.body).toMatchObject({ error: 40003 })
  await stop(first.launcher)
  expectNothingLeft(localDir, first)

  const second = await npmStart(localDir, environment, '--with', source)
  expect((await readPlant(second.url, 1n))?.body).toEqual({ name: 'Monstera', tag: 'test' })
  process.kill(second.launcher.pid, 'SIGKILL')
  killBroker(second)
  await second.launcher.exited

  const third = await npmStart(localDir, environment)
  expect(alive(Object.values(second.pids))).toEqual([])
  expect((await createPlant(third.url, 1n, 'Monstera')).response?.body).toMatchObject({ error: 40003 })
  await stop(third.launcher)

  const fresh = await npmStart(localDir, environment, '--fresh')
  expect((await readPlant(fresh.url, 1n))?.status).toBe(404)
  await stop(fresh.launcher)
  expectNothingLeft(localDir, fresh)
})

// Where the tests run in Docker there may be nothing to run processes with.
it.skipIf(source === 'docker')('npm start continues without a Docker engine, and says so', async () => {
  const { localDir, environment } = await setting({ DOCKER_HOST: NOWHERE })
  const run = await npmStart(localDir, environment)
  expect(run.log()).toMatch(/run as processes: (no Docker engine responds|there is no docker command)/)
  expect(run.dockerProject).toBeUndefined()
  await stop(run.launcher)
})

it('npm start --with docker fails without a Docker engine', async () => {
  const { localDir, environment } = await setting({ DOCKER_HOST: NOWHERE })
  const { launcher, log } = await launch(localDir, environment, '--with', 'docker')
  expect(await launcher.exited).toEqual({ code: 1, signal: null })
  expect(log()).toMatch(/--with docker: (no Docker engine responds|there is no docker command)/)
})

it('npm start says that the plants of the last start are in other stores', async () => {
  const { localDir, environment } = await setting()
  mkdirSync(join(localDir, 'data'))
  const other = source === 'docker' ? 'processes' : 'docker'
  writeFileSync(join(localDir, 'data', 'source'), other)
  const run = await npmStart(localDir, environment)
  expect(run.log()).toContain(`--with ${other} has them`)
  await stop(run.launcher)
})

it('npm start with an external Kafka and Redis starts neither of them', async () => {
  const { localDir, environment } = await setting({
    KAFKA_BROKERS: inject('kafkaBrokers'),
    REDIS_URL: inject('redisUrl'),
    PLANTS_TOPIC: `plants-${randomUUID()}`,
  })
  const run = await npmStart(localDir, environment, '--with', 'external')
  expect(Object.keys(run.pids).sort()).toEqual(['api', 'launcher', 'projector'])
  expect(run.dockerProject).toBeUndefined()
  expect((await createPlant(run.url, 1n, 'Monstera')).response?.status).toBe(200)
  await stop(run.launcher)
})

/** A folder and ports for `npm start` of a test's own; whatever is stored there ends with the test. */
async function setting(more: Record<string, string> = {}) {
  const localDir = temporaryFolder()
  if (source === 'docker') {
    registerProject(inject('testRun'), projectOf(localDir))
    onTestFinished(createContainers(projectOf(localDir)).forget)
  }
  const environment = {
    ...processEnvironment,
    HOME: process.env.HOME,
    ...(source === 'processes' ? { DOCKER_HOST: NOWHERE } : { DOCKER_HOST: process.env.DOCKER_HOST }),
    PLANT_STORE_LOCAL_DIR: localDir,
    PLANT_STORE_TOKEN: TOKEN,
    PORT: String(await freePort()),
    OPS_PORT: String(await freePortPair()),
    ...more,
  }
  return { localDir, environment }
}

type Launched = { launcher: RunningProcess; log: () => string }

async function launch(localDir: string, env: NodeJS.ProcessEnv, ...args: string[]): Promise<Launched> {
  const command = new URL('../local/start.mjs', import.meta.url).pathname
  const logFile = join(localDir, 'launcher.log')
  rmSync(logFile, { force: true })
  const launcher = await startProcess({
    name: 'npm start',
    command: process.execPath,
    args: [command, ...args],
    logFile,
    env,
  })
  registerProcess(inject('testRun'), launcher)
  onTestFinished(async () => {
    await launcher.stop({ graceMs: STOP_MS })
  })
  return { launcher, log: () => readFileSync(logFile, 'utf8') }
}

async function npmStart(localDir: string, env: NodeJS.ProcessEnv, ...args: string[]) {
  const { launcher, log } = await launch(localDir, env, ...args)
  const isNew = () => readRun(localDir)?.pids.launcher === launcher.pid
  await vi.waitFor(() => expect(isNew(), log()).toBe(true), { timeout: START_MS })
  const run = readRun(localDir) as Run
  for (const pid of Object.values(run.pids)) registerGroup(inject('testRun'), pid)
  onTestFinished(() => {
    for (const pid of alive(Object.values(run.pids))) process.kill(pid, 'SIGKILL')
  })
  return { ...run, launcher, log }
}

function killBroker({ pids, dockerProject }: Run): void {
  if (dockerProject === undefined) process.kill(pids.kafka as number, 'SIGKILL')
  else execFileSync('docker', ['kill', ...containersOf(dockerProject, 'kafka')])
}

function containersOf(project: string, service?: string): string[] {
  const labels = [`project=${project}`, ...(service === undefined ? [] : [`service=${service}`])]
  const filters = labels.flatMap((label) => ['--filter', `label=com.docker.compose.${label}`])
  const ids = execFileSync('docker', ['ps', '--all', '--quiet', ...filters], { encoding: 'utf8' })
  return ids.split('\n').filter(Boolean)
}

async function stop(launcher: RunningProcess): Promise<void> {
  expect(await launcher.stop({ graceMs: STOP_MS })).toEqual({ code: 0, signal: null })
}

function expectNothingLeft(localDir: string, { pids, dockerProject }: Run): void {
  expect(alive(Object.values(pids))).toEqual([])
  if (dockerProject !== undefined) expect(containersOf(dockerProject)).toEqual([])
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
