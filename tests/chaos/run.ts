import { createWriteStream, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { cacheDir } from '../../local/places.mjs'
import { describeExit } from '../../local/processes/process.ts'
import { startClients } from './clients.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { lineOf, reasonsOf, runExperiment, untilRecovered } from './experiment.ts'
import type { Request } from './history.ts'
import { judge } from './judge.ts'
import { type Experiment, judgeLiveness } from './liveness.ts'
import { readDeliveries, readLog } from './log.ts'
import { TOKEN, type Variant } from './services.ts'

const START_TIMEOUT_MS = 60_000
const READERS_REACH_END_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 500
/** After a rest, so that the fault meets requests in flight. */
const LOAD_BEFORE_FAULT_MS = 2_000

type RunOptions = Variant & {
  seed: number
  minutes: number
  /** The experiments to run, from this number to this one; all that fit into the minutes unless given. */
  experiments?: readonly [from: number, to: number] | undefined
  /** Parts of kinds of faults: the experiments have these in turn, each alone. Drawn unless given. */
  kinds?: readonly string[] | undefined
  /** Duration of the faults; the one that a fault declares, or a drawn one, unless given. */
  holdMs?: number | undefined
  /** Time without load before each fault. */
  restMs?: number | undefined
  /** Creates a second, and as many reads. */
  rate: number
  say(line: string): void
}

/** Starts a cluster, runs experiments on it under load, and judges the responses and deliveries. */
export async function run({ seed, say, ...options }: RunOptions) {
  const dir = join(cacheDir, 'chaos', String(seed))
  rmSync(dir, { recursive: true, force: true })
  const violations: string[] = []
  const requests: Request[] = []
  // One by one: the history of a long run does not fit into one string.
  const writeLines = (file: string, lines: readonly object[]) =>
    pipeline(
      lines.values().map((line) => `${JSON.stringify(line)}\n`),
      createWriteStream(join(dir, file)),
    )

  /** Runs one experiment after the other under load, until the time is over or something has gone wrong. */
  async function play(cluster: Cluster): Promise<Experiment[]> {
    const { experiments: [first, last] = [1, Infinity], kinds, holdMs, restMs, rate } = options
    const experiments: Experiment[] = []
    const clients = startClients(cluster.apis, requests, { seed, rate })
    try {
      if (!(await untilRecovered(cluster, requests, 0))) violations.push('the cluster did not get ready')
      const until = performance.now() + options.minutes * 60_000
      for (let number = first; number <= last && performance.now() < until && violations.length === 0; number++) {
        if (restMs !== undefined) {
          await clients.rest(restMs)
          await delay(LOAD_BEFORE_FAULT_MS)
        }
        const { failures, ...experiment } = await runExperiment(cluster, requests, number, { seed, kinds, holdMs })
        experiments.push(experiment)
        say(`  ${lineOf(experiment, requests)}`)
        violations.push(...failures.map((failure) => `experiment ${number}: ${failure}`))
        if (experiment.recoveredAt === undefined)
          violations.push(`experiment ${number}: not recovered: ${await reasonsOf(cluster.services)}`)
      }
    } finally {
      await clients.stop()
    }
    return experiments
  }

  /** The violations that are found at the end. */
  async function judgeAll(cluster: Cluster, experiments: readonly Experiment[]): Promise<string[]> {
    const log = await readLog(cluster)
    await writeLines('log.jsonl', log)
    const winners = new Set(log.map(({ id }) => id)).size
    const deliveries = new Map<string, ReturnType<typeof readDeliveries>>()
    for (const { name, deliveries: file } of cluster.consumers) {
      const hasAll = () => new Set(readDeliveries(file).map(({ eventId }) => eventId)).size >= winners
      await untilHolds(READERS_REACH_END_WITHIN_MS, hasAll)
      deliveries.set(name, readDeliveries(file))
    }
    const found = [...judge({ requests, log, deliveries }), ...judgeLiveness(experiments, requests)]
    return [...found, ...(await judgeStores(cluster)), ...secretsIn(cluster.logDir)]
  }

  const cluster = await startCluster({
    ...{ ...options, dir },
    onEnd({ name, mayEnd }, exit) {
      const text = `${name} ended by itself: ${describeExit(exit)}`
      say(`  ${text}`)
      if (!mayEnd) violations.push(text)
    },
  })
  try {
    await Promise.all([...cluster.services, ...cluster.consumers].map((member) => member.start()))
    await untilHolds(START_TIMEOUT_MS, async () => (await reasonsOf(cluster.services)) === '')
    const experiments = await play(cluster)
    await writeLines('history.jsonl', requests)
    const judged = await judgeAll(cluster, experiments).catch((error: Error) => {
      // A cluster that never recovered may have no readable log.
      if (violations.length === 0) throw error
      violations.push(`not judged: ${error.message}`)
      return []
    })
    violations.push(...judged)
    writeFileSync(join(dir, 'violations.txt'), violations.map((violation) => `${violation}\n`).join(''))
    return { dir, experiments: experiments.length, requests: requests.length, violations, judged }
  } finally {
    await cluster.end()
  }
}

/** Resolves when the condition holds, or the time is over. */
async function untilHolds(ms: number, holds: () => boolean | Promise<boolean>): Promise<void> {
  const until = performance.now() + ms
  while (!(await holds()) && performance.now() < until) await delay(LOOK_EVERY_MS)
}

/**
 * The problems that plantctl would report to an operator at the end. The table must have each plant soon after the last
 * fault, and nothing else.
 */
async function judgeStores({ plantctl }: Cluster): Promise<string[]> {
  const violations: string[] = []
  let behind = 0
  await untilHolds(READERS_REACH_END_WITHIN_MS, async () => {
    const stdout = await succeed('verify', '--table', '--json')
    if (stdout === undefined) return true
    const { partitions } = JSON.parse(stdout) as { partitions: { behind: number }[] }
    behind = partitions.reduce((sum, one) => sum + one.behind, 0)
    return behind === 0
  })
  if (behind > 0) violations.push(`the table is ${behind} plants behind the log`)
  await succeed('status')
  await succeed('verify')
  return violations

  async function succeed(...args: string[]): Promise<string | undefined> {
    const { code, stdout, stderr } = await plantctl(...args)
    if (code === 0) return stdout
    violations.push(`plantctl ${args.join(' ')} ends with ${code}:\n${stdout}${stderr}`)
    return undefined
  }
}

const secretsIn = (logDir: string): string[] =>
  readdirSync(logDir)
    .filter((file) => readFileSync(join(logDir, file), 'latin1').includes(TOKEN))
    .map((file) => `${file} has the token`)
