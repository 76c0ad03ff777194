import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished } from 'vitest'
import { type Run, readRun } from '../../local/launch/run-file.ts'
import { projectOf } from '../../local/launch/stores.ts'
import { root } from '../../local/places.mjs'
import { freePort, isPortFree } from '../../local/processes/port.ts'
import { type RunningProcess, startProcess, untilReady } from '../../local/processes/process.ts'
import { identify } from '../../local/processes/process-identity.ts'
import { removeContainers } from '../../local/stores/docker.ts'
import { TOKEN } from './plant-store.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { processEnvironment, registerGroup } from './test-run.ts'

/**
 * Less than the tests that start it may take: the error then shows the log. The launcher allows 120 s for the
 * stores, and 60 s each for rights, topics and services.
 */
const START_MS = 280_000
/** The launcher allows 10 s for the apis, then 10 s for the projectors, then 120 s for stores in containers. */
const STOP_MS = 150_000
/** The number of ports in a row from each setting on that a cluster uses. */
const PORTS = { PORT: 2, OPS_PORT: 4, KAFKA_PORT: 9, REDIS_PORT: 6 }

/** Nothing listens here: with this as DOCKER_HOST there is no Docker. */
export const NOWHERE = 'tcp://127.0.0.1:1'

/** A folder and ports for `npm start` of a test's own; whatever is stored there ends with the test. */
export async function prepareStart(more: Record<string, string> = {}) {
  const source = inject('storeSource')
  const localDir = temporaryFolder()
  if (source === 'docker') {
    await (await import('./stores/from-docker.ts')).reapProject(projectOf(localDir))
    onTestFinished(() => removeContainers(projectOf(localDir), '--volumes'))
  }
  const environment: NodeJS.ProcessEnv = {
    ...processEnvironment,
    HOME: process.env.HOME,
    ...(source === 'processes' ? { DOCKER_HOST: NOWHERE } : { DOCKER_HOST: process.env.DOCKER_HOST }),
    PLANT_STORE_LOCAL_DIR: localDir,
    PLANT_STORE_TOKEN: TOKEN,
    ...(await ownPorts()),
    ...more,
  }
  return { localDir, environment }
}

/** Ports in a row, all of them free, for one start. */
async function ownPorts(): Promise<Record<string, string>> {
  const count = Object.values(PORTS).reduce((sum, ports) => sum + ports)
  let next = await freePort()
  const areFree = await Promise.all(Array.from({ length: count }, (_, n) => isPortFree(next + n, '127.0.0.1')))
  if (!areFree.every(Boolean)) return ownPorts()
  return Object.fromEntries(
    Object.entries(PORTS).map(([name, ports]) => {
      next += ports
      return [name, String(next - ports)]
    }),
  )
}

/** Starts the program behind `npm start` with these arguments. */
export async function launch(localDir: string, env: NodeJS.ProcessEnv, ...args: string[]) {
  const logFile = join(localDir, 'launcher.log')
  rmSync(logFile, { force: true })
  const launcher = await startProcess({
    name: 'npm start',
    command: process.execPath,
    args: [join(root, 'local/start.ts'), ...args],
    logFile,
    env,
  })
  onTestFinished(async () => {
    // Those that were restarted, too. The launcher ends first: it would start again what is killed.
    const file = join(localDir, 'run.json')
    const pids = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Run).pids : {}
    await launcher.stop({ graceMs: STOP_MS })
    killAlive(Object.values(pids))
  })
  return { launcher, log: () => readFileSync(logFile, 'utf8') }
}

/** Resolves when everything runs. Throws with the log when it ended or takes too long. */
export async function npmStart(localDir: string, env: NodeJS.ProcessEnv, ...args: string[]) {
  const { launcher, log } = await launch(localDir, env, ...args)
  // It prints its last text after it has written the file.
  const isReady = () => readRun(localDir)?.pids.launcher === launcher.pid && log().includes('Stop: Ctrl-C')
  await untilReady(launcher, { isReady, startTimeoutMs: START_MS })
  const run = readRun(localDir) as Run
  for (const pid of Object.values(run.pids)) registerGroup(inject('testRun'), pid)
  return { ...run, launcher, log }
}

/** Ends it as Ctrl-C does. */
export async function stopStart(launcher: RunningProcess): Promise<void> {
  expect(await launcher.stop({ graceMs: STOP_MS })).toEqual({ code: 0, signal: null })
}

/** Kills the processes that still run. */
export function killAlive(pids: number[]): void {
  for (const pid of alive(pids)) process.kill(pid, 'SIGKILL')
}

/** The processes that still run. */
export const alive = (pids: number[]): number[] => pids.filter((pid) => identify(pid) !== undefined)
