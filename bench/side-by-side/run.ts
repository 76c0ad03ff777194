import { describe as explain, Failure } from '../../local/processes/failure.mjs'
import type { RunningContender } from '../contender.ts'
import { checkContender } from '../contenders/self-check.ts'
import { circumstances } from '../environment.ts'
import type { Options } from '../options.ts'
import { digits } from '../report/figures.ts'
import { type CreatesRow, cpuOf, type OpenLoadRow, type Results } from '../report/results.ts'
import { type BenchStores, BROKER_WARM_UP_MS } from '../stores.ts'
import { type CreatesRun, measureCreates } from './creates.ts'
import { measureOpenLoad, type OpenLoadRun } from './open-load.ts'
import { orderOf } from './order.ts'
import { measureProjections } from './projections.ts'
import { OPEN_LOADED, OVERLOADED, ROWS, type RowName, UNIQUE, WARMING_UP } from './rows.ts'

type Say = (line: string) => void

/** Measures the requested parts, in rounds over all rows. Throws when a contender does not keep its promise. */
export async function runSideBySide(options: Options, stores: BenchStores, say: Say): Promise<Results> {
  const rows = options.rows as readonly RowName[]
  const creates = await runCreates(rows, options, stores, say)
  const openLoad = options.openLoad ? await runOpenLoad(options, stores, say) : []
  const { events, rounds, leftOut } = options
  if (options.projections) say('projections')
  const projections = options.projections ? await measureProjections(stores, { events, rounds }, say) : undefined
  return {
    ...(await circumstances(stores.redisUrl, { peers: true })),
    connections: options.connections,
    effort: { rounds, seconds: options.measuredMs / 1_000, leftOut },
    ...{ creates, openLoad, projections },
  }
}

async function runCreates(
  rows: readonly RowName[],
  options: Options,
  stores: BenchStores,
  say: Say,
): Promise<CreatesRow[]> {
  const runs = new Map<RowName, CreatesRun[]>(rows.map((row) => [row, []]))
  await warmUp(rows, options, stores, say)
  for (let round = 0; round < options.rounds; round++) {
    for (const row of orderOf(rows, round)) {
      const check = (running: RunningContender) => checkContender(running, UNIQUE.has(row))
      const run = await named(row, () => measureCreates(ROWS[row], stores, options, round === 0 ? check : undefined))
      runs.get(row)?.push(run)
      const figures = `${digits(run.perSecond)} creates/s, ${digits(cpuOf(run))} µs of CPU each`
      say(`  round ${round + 1} of ${options.rounds}, ${ROWS[row].name}: ${figures}`)
    }
  }
  return rows.map((row) => ({ row, ...describe(row), runs: runs.get(row) ?? [] }))
}

async function runOpenLoad(options: Options, stores: BenchStores, say: Say): Promise<OpenLoadRow[]> {
  const runs = new Map<RowName, OpenLoadRun[]>(OPEN_LOADED.map((row) => [row, []]))
  for (let round = 0; round < options.rounds; round++) {
    for (const row of orderOf(OPEN_LOADED, round)) {
      const openLoadOptions = { ...options, seed: options.seed + round, overload: row === OVERLOADED }
      const run = await named(row, () => measureOpenLoad(ROWS[row], stores, openLoadOptions))
      runs.get(row)?.push(run)
      const figures = run.atRates.map(({ latency, ratePerSecond }) => `${digits(latency.p99)} at ${ratePerSecond}/s`)
      say(`  open loop, round ${round + 1} of ${options.rounds}, ${ROWS[row].name}: p99 in ms ${figures.join(', ')}`)
    }
  }
  return OPEN_LOADED.map((row) => ({ row, ...describe(row), runs: runs.get(row) ?? [] }))
}

const describe = (row: RowName) => ({ name: ROWS[row].name, promise: ROWS[row].promise })

/** Warms up the stores that keep running from round to round: a JVM compiles in its first seconds. */
async function warmUp(rows: readonly RowName[], options: Options, stores: BenchStores, say: Say): Promise<void> {
  for (const row of WARMING_UP.filter((each) => rows.includes(each))) {
    say(`  warming up: ${ROWS[row].name}`)
    await named(row, () => measureCreates(ROWS[row], stores, { ...options, warmUpMs: BROKER_WARM_UP_MS }))
  }
}

async function named<T>(row: RowName, measure: () => Promise<T>): Promise<T> {
  try {
    return await measure()
  } catch (error) {
    throw new Failure(`${ROWS[row].name}: ${explain(error)}`)
  }
}
