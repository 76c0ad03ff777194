import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '../processes/failure.mjs'
import { take } from '../processes/lock.ts'
import { identify } from '../processes/process-identity.ts'
import { removeContainers, whyNoDocker } from '../stores/docker.ts'
import { say } from './progress.ts'
import { readRun, removeRun } from './run-file.ts'

type Process = { pid: number; identity: string }
type Started = { processes: Record<string, Process>; dockerProject?: string }
export type StartedRecord = Awaited<ReturnType<typeof claim>>

const SERVICES_GRACE_MS = 1000
const STORES_GRACE_MS = 4000
const KILL_TIMEOUT_MS = 2000

/** Names in a cluster have numbers. */
const STORE = /^(kafka|redis|sentinel)/

/**
 * Takes the lock `started.json`: everything that one `npm start` has started, including itself, from its first moment
 * on. It keeps a second `npm start` from using the same data, and lets the next one stop what a killed launcher left
 * running. Pids alone would not do, because the system reuses them.
 * Throws a Failure when another launcher runs there.
 */
export async function claim(localDir: string) {
  const started: Started = { processes: { launcher: processOf(process.pid) } }
  let launcher: Process | undefined
  const lock = take(join(localDir, 'started.json'), JSON.stringify(started), (text) => {
    launcher = read(text).processes.launcher
    return isAlive(launcher)
  })
  if (lock === undefined) {
    const run = readRun(localDir)
    throw new Failure(
      `Plant Store is already running ${run ? `at ${run.url}` : 'and still starting'} (pid ${launcher?.pid}). Stop it ` +
        `with Ctrl-C there or \`kill ${launcher?.pid}\`, or set PLANT_STORE_LOCAL_DIR and use --port for a second one.`,
    )
  }
  for (const text of lock.earlier) await endLeftovers(read(text))
  lock.forgetEarlier()
  removeRun(localDir)
  const write = () => lock.write(JSON.stringify(started))
  return {
    add(name: string, pid: number): void {
      started.processes[name] = processOf(pid)
      write()
    },
    addContainers(project: string): void {
      started.dockerProject = project
      write()
    },
    /** Also of `run.json`. */
    remove(): void {
      removeRun(localDir)
      lock.release()
    },
  }
}

const processOf = (pid: number): Process => ({ pid, identity: String(identify(pid)) })

async function endLeftovers({ processes, dockerProject }: Started): Promise<void> {
  const alive = Object.entries(processes).filter(([, entry]) => isAlive(entry))
  // Without an engine there are no containers any more.
  const project = dockerProject && !(await whyNoDocker()) ? dockerProject : undefined
  if (alive.length === 0 && !project) return
  const names = [...alive.map(([name]) => name), ...(project ? ['Kafka and Redis in Docker'] : [])]
  say(`Stopping what an earlier npm start left running: ${names.join(', ')}`)
  const of = (areStores: boolean) => alive.filter(([name]) => STORE.test(name) === areStores).map(([, entry]) => entry)
  // The services first: without their stores they would only log errors. No client waits for their responses.
  await endAll(of(false), SERVICES_GRACE_MS)
  await Promise.all([project && removeContainers(project), endAll(of(true), STORES_GRACE_MS)])
}

/** SIGTERM, and after graceMs SIGKILL. */
async function endAll(entries: Process[], graceMs: number): Promise<void> {
  for (const [signal, limitMs] of [
    ['SIGTERM', graceMs],
    ['SIGKILL', KILL_TIMEOUT_MS],
  ] as const) {
    for (const entry of entries) end(entry, signal)
    const deadline = performance.now() + limitMs
    while (entries.some(isAlive) && performance.now() < deadline) await delay(50)
  }
  const pids = entries.filter(isAlive).map(({ pid }) => pid)
  if (pids.length > 0)
    throw new Failure(
      `Processes of an earlier npm start cannot be stopped: end these pids yourself: ${pids.join(', ')}.`,
    )
}

function end(entry: Process, signal: NodeJS.Signals): void {
  try {
    if (isAlive(entry)) process.kill(entry.pid, signal)
  } catch {
    // It has ended in the meantime.
  }
}

const isAlive = (entry: Process | undefined) => entry !== undefined && identify(entry.pid) === entry.identity

const read = (text: string): Started => (text === '' ? { processes: {} } : JSON.parse(text))
