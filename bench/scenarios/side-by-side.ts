import { checkContender, checkRun } from '../contenders/check.ts'
import { BARE, CONTENDERS, type Contender, OWN } from '../contenders/contenders.ts'
import { type Load, RATE, runLoad } from '../load/load.ts'
import { CPU, LOAD } from '../measure/cpu.ts'
import type { Figures, Measured } from '../measure/spread.ts'
import { loadOf } from '../options.ts'
import { ratioOfRows, tableOf, target, valuesOf } from '../report/table.ts'
import { inRounds } from '../rounds.ts'
import type { Scenario } from '../scenario.ts'
import { type BenchStores, brokerWarmUp } from '../stores.ts'
import { openLoadTables, openLoadTargets, runOpenLoad } from './open-load.ts'
import { compareReaders, readersTable, readerTargets } from './replay.ts'

const OPEN_LOAD = 'open-load'
const PROJECTIONS = 'projections'
const ONE_CLIENT = { connections: 1, warmUpMs: 300, measuredMs: 1_500 }
const [ONE_CLIENT_P50, ONE_CLIENT_P99] = ['one client p50', 'one client p99'] as const
const OWN_COST = `beyond ${BARE}`
const PROCESSES = ['api', 'projector', 'broker', 'Redis', 'PostgreSQL']
const FIGURES = [RATE, CPU, OWN_COST, ...PROCESSES, ONE_CLIENT_P50, ONE_CLIENT_P99, LOAD]

export const sideBySide: Scenario = {
  summary: 'creates and projections of this service and others, compared with the targets',
  file: 'results',
  help: `creates in a closed loop, latency at fixed rates and under overload (${OPEN_LOAD}), and reading the log
(${PROJECTIONS}). 40 minutes; with --quick, creates of three contenders in six minutes.`,
  declared: {
    numbers: { rounds: 7, seconds: 4, connections: 256, 'warm-up': 10, events: 1_000_000 },
    quick: { rounds: 5, seconds: 2, events: 60_000 },
    parts: [...CONTENDERS.map(({ name }) => name), OPEN_LOAD, PROJECTIONS],
    quickParts: [OWN, BARE, 'postgres'],
  },
  async run(options, stores) {
    const { rounds, parts, leftOut } = options
    const load = loadOf(options)
    const contenders = CONTENDERS.filter(({ name }) => parts.includes(name))
    const creates = withOwnCosts(await runCreates(contenders, rounds, load, stores))
    const openLoad = parts.includes(OPEN_LOAD) ? await runOpenLoad(rounds, load, stores) : {}
    const projections = parts.includes(PROJECTIONS) ? await compareReaders(stores, options) : {}
    const ofBare = { base: () => BARE, ratios: { [RATE]: `of ${BARE}`, [CPU]: `of ${BARE}` } }
    const readers = readerTargets(projections, valuesOf(creates[OWN], RATE))
    return {
      title: 'Benchmark results',
      notes: [
        '[performance.md](../explanation/performance.md#creates-side-by-side) explains how this is measured and what it does not show.',
        `${rounds} rounds of ${options.seconds} s with ${options.connections} clients: medians, and from the lowest round to the highest. CPU is in µs for each create or event, latency in ms.`,
        ...(leftOut.length > 0 ? [`Left out: ${leftOut.join(', ')}.`] : []),
      ],
      tables: [
        {
          head: ['contender', 'an acknowledged plant is'],
          rows: contenders.map(({ name, promise }) => [name, promise]),
        },
        tableOf('creates', creates, FIGURES, { spread: [RATE, CPU], ...ofBare }),
        ...openLoadTables(openLoad),
        readersTable(projections),
      ],
      targets: [...createTargets(creates), ...openLoadTargets(openLoad), ...readers],
      measured: { creates, openLoad, projections },
    }
  },
}

async function runCreates(contenders: readonly Contender[], rounds: number, load: Load, stores: BenchStores) {
  for (const contender of contenders.filter(({ keepsStores }) => keepsStores)) {
    console.log(`  warming up the stores of ${contender.name}`)
    await measureCreates(contender, stores, brokerWarmUp(load), false)
  }
  return inRounds(contenders, rounds, (contender, round) => measureCreates(contender, stores, load, round === 0))
}

/** The highest rate of a contender with many clients, then its latency with one. */
async function measureCreates(contender: Contender, stores: BenchStores, load: Load, isFirst: boolean) {
  await using running = await contender.start(stores)
  if (isFirst) await checkContender(running, contender.isUnique)
  const order = { ...load, urls: running.urls, processes: running.processes }
  const many = await runLoad(order)
  const one = await runLoad({ ...order, ...ONE_CLIENT })
  await checkRun(running, [many, one])
  const { p50, p99 } = one.figures
  return { [contender.name]: { ...many.figures, [ONE_CLIENT_P50]: p50, [ONE_CLIENT_P99]: p99 } as Figures }
}

/** Adds the CPU beyond the CPU of the same app without a store, in the same round. */
function withOwnCosts(creates: Measured): Measured {
  const bare = valuesOf(creates[BARE], CPU)
  if (bare === undefined) return creates
  const cost = (figures: Figures, round: number) => (figures[CPU] ?? Number.NaN) - (bare[round] ?? Number.NaN)
  const withCost = (figures: Figures, round: number) => ({ ...figures, [OWN_COST]: cost(figures, round) })
  return Object.fromEntries(Object.entries(creates).map(([row, runs]) => [row, runs.map(withCost)]))
}

function createTargets(creates: Measured) {
  const of = (figure: string) => valuesOf(creates[OWN], figure)
  const against = (name: string, figure: string) => ratioOfRows(creates, figure, OWN, name)
  const ownAgainst = (name: string) => [`own CPU against that of ${name}`, against(name, OWN_COST)] as const
  return [
    ...target(1, `creates/s against ${BARE}`, against(BARE, RATE), { atLeast: 0.7 }, '×'),
    ...target(2, `own CPU per create, ${OWN_COST}`, of(OWN_COST), { atMost: 40 }, 'µs'),
    ...target(2, ...ownAgainst('producer-send'), { atMost: 0.2 }, '×'),
    ...target(3, ...ownAgainst('postgres'), { atMost: 0.25 }, '×'),
    ...target(3, ...ownAgainst('postgres-no-fsync'), { atMost: 0.4 }, '×'),
    ...target(3, 'creates/s against emmett', against('emmett', RATE), { atLeast: 5 }, '×'),
    ...target(5, 'p50, one client at a time', of(ONE_CLIENT_P50), { atMost: 0.6 }, 'ms'),
    ...target(11, `CPU per create against ${BARE}`, against(BARE, CPU), { atMost: 2 }, '×'),
  ]
}
