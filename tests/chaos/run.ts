import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { cacheDir } from '../../local/places.mjs'
import { describeExit } from '../../local/processes/process.ts'
import { startClients } from './clients.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { areReady, type Experiment, reasonsOf, runExperiment, untilRecovered } from './experiment.ts'
import { createHistory, type History, type Request } from './history.ts'
import { type Evidence, judge } from './judge.ts'
import { judgeLiveness } from './liveness.ts'
import { readDeliveries, readLog } from './log.ts'
import { lineOf, type Run } from './report.ts'
import type { RunOptions } from './run-options.ts'
import { TOKEN } from './services.ts'

const START_TIMEOUT_MS = 60_000
const CONSUMERS_REACH_END_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 500
/** After a rest, so that the fault meets requests in flight. */
const LOAD_BEFORE_FAULT_MS = 2_000

/** Starts a cluster, runs experiments on it under load, and judges the responses and deliveries. */
export async function run(options: RunOptions): Promise<Run> {
  const { seed, redis, bug, former, say } = options
  const dir = join(cacheDir, 'chaos', String(seed))
  rmSync(dir, { recursive: true, force: true })
  const violations: string[] = []
  const cluster = await startCluster({
    ...{ dir, redis, bug, former },
    onEnd({ name, mayEnd }, exit) {
      const text = `${name} ended by itself: ${describeExit(exit)}`
      say(`  ${text}`)
      if (!mayEnd) violations.push(text)
    },
  })
  try {
    const history = createHistory(join(dir, 'history.jsonl'))
    await Promise.all([...cluster.services, ...cluster.consumers].map((member) => member.start()))
    const startedAt = history.now()
    while (!(await areReady(cluster.services)) && history.now() < startedAt + START_TIMEOUT_MS)
      await delay(LOOK_EVERY_MS)
    const { experiments, endedAt } = await play(cluster, history, { ...options, startedAt }, violations)
    history.flush()
    const judged = await judgeRun(cluster, { requests: history.requests, experiments, dir }).catch((error: Error) => {
      // A cluster that never recovered may have no readable log.
      if (violations.length === 0) throw error
      violations.push(`not judged: ${error.message}`)
      return []
    })
    violations.push(...judged)
    writeFileSync(join(dir, 'violations.txt'), violations.map((violation) => `${violation}\n`).join(''))
    const lastedMs = endedAt - startedAt
    return { seed, dir, lastedMs, experiments, requests: history.requests, violations, judged }
  } finally {
    await cluster.end()
  }
}

/** Runs one experiment after the other under load, until the time is over or something has gone wrong. */
async function play(
  cluster: Cluster,
  history: History,
  { minutes, experiments: chosen, restMs, say, startedAt, ...options }: RunOptions & { startedAt: number },
  violations: string[],
) {
  const clients = startClients(cluster.apis, history, options)
  try {
    const experiments: Experiment[] = []
    if (!(await untilRecovered(cluster, history, startedAt))) violations.push('the cluster did not get ready')
    const [first, last] = chosen ?? [1, Infinity]
    const until = history.now() + minutes * 60_000
    for (let number = first; number <= last && history.now() < until && violations.length === 0; number++) {
      if (restMs !== undefined) {
        await clients.rest(restMs)
        await delay(LOAD_BEFORE_FAULT_MS)
      }
      const experiment = await runExperiment(cluster, history, number, options)
      experiments.push(experiment)
      say(`  ${lineOf(experiment, history.requests)}`)
      if (experiment.recoveredAt === undefined)
        violations.push(`experiment ${number}: not recovered: ${await reasonsOf(cluster.services)}`)
      violations.push(...experiment.failures.map((failure) => `experiment ${number}: ${failure}`))
    }
    return { experiments, endedAt: history.now() }
  } finally {
    await clients.stop()
  }
}

type Played = Pick<Run, 'requests' | 'experiments' | 'dir'>

async function judgeRun(cluster: Cluster, { requests, experiments, dir }: Played): Promise<string[]> {
  const evidence = await collect(cluster, requests)
  writeFileSync(join(dir, 'log.jsonl'), evidence.log.map((claim) => `${JSON.stringify(claim)}\n`).join(''))
  const found = [...judge(evidence), ...judgeLiveness(experiments, requests)]
  return [...found, ...(await judgeStores(cluster)), ...secretsIn(cluster.logDir)]
}

async function collect(cluster: Cluster, requests: readonly Request[]): Promise<Evidence> {
  const log = await readLog(cluster)
  const winners = new Set(log.map(({ id }) => id)).size
  const deliveries = new Map<string, ReturnType<typeof readDeliveries>>()
  const until = performance.now() + CONSUMERS_REACH_END_WITHIN_MS
  for (const { name, deliveries: file } of cluster.consumers) {
    const isComplete = () => new Set(readDeliveries(file).map(({ eventId }) => eventId)).size >= winners
    while (!isComplete() && performance.now() < until) await delay(LOOK_EVERY_MS)
    deliveries.set(name, readDeliveries(file))
  }
  return { requests, log, deliveries }
}

/** The problems that plantctl would report to an operator at the end. */
async function judgeStores({ plantctl }: Cluster): Promise<string[]> {
  const violations = await judgeTable(plantctl)
  for (const command of ['status', 'verify']) {
    const { code, stdout, stderr } = await plantctl(command)
    if (code !== 0) violations.push(`plantctl ${command} ends with ${code}:\n${stdout}${stderr}`)
  }
  return violations
}

/** The table must have each plant soon after the last fault, and nothing else. */
async function judgeTable(plantctl: Cluster['plantctl']): Promise<string[]> {
  const until = performance.now() + CONSUMERS_REACH_END_WITHIN_MS
  while (true) {
    const { code, stdout, stderr } = await plantctl('verify', '--table', '--json')
    if (code !== 0) return [`plantctl verify --table ends with ${code}:\n${stdout}${stderr}`]
    const { partitions } = JSON.parse(stdout) as { partitions: { behind: number }[] }
    const behind = partitions.reduce((sum, one) => sum + one.behind, 0)
    if (behind === 0) return []
    if (performance.now() > until) return [`the table is ${behind} plants behind the log`]
    await delay(LOOK_EVERY_MS)
  }
}

const secretsIn = (logDir: string): string[] =>
  readdirSync(logDir)
    .filter((file) => readFileSync(join(logDir, file), 'latin1').includes(TOKEN))
    .map((file) => `${file} has the token`)
