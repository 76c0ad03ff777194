import { median, ratioOf, spreadOf } from '../measure/spread.ts'
import type { CreatesRun } from '../side-by-side/creates.ts'
import { type AtRate, RATES_PER_SECOND } from '../side-by-side/open-load.ts'
import { digits, spread } from './figures.ts'
import { type CreatesRow, cpuOf, type Results, storeCosts } from './results.ts'
import type { Table } from './table.ts'
import { againstTargets } from './targets.ts'

const FIRST_HAS_WORDS = new Set([0])
const NOTHING = ''

/** Processes in the order in which they come up, each as often as its row has it. */
export function processesOf(creates: readonly CreatesRow[]): string[] {
  const names = creates.flatMap(({ runs }) => runs.flatMap(({ cpuMicros }) => Object.keys(cpuMicros)))
  return [...new Set(names)]
}

/** The median of what a process takes; undefined when it has no part in the row. */
export function microsOf(runs: readonly CreatesRun[], process: string): number | undefined {
  const micros = runs.map(({ cpuMicros }) => cpuMicros[process])
  return micros.some((each) => each === undefined) ? undefined : median(micros as number[])
}

export function createsTable({ creates }: Results): Table {
  const processes = processesOf(creates)
  const baseline = creates.find(({ row }) => row === 'no-store')?.runs
  const ratioToNoStore = (runs: readonly CreatesRun[], of: (run: CreatesRun) => number) =>
    baseline === undefined ? NOTHING : digits(ratioOf(runs.map(of), baseline.map(of)).median, '×')
  const ownCost = (row: string) => {
    const costs = row === 'no-store' ? undefined : storeCosts(creates, row)
    return optional(costs && median(costs))
  }
  const rows = creates.map(({ row, name, runs }) => [
    name,
    spread(spreadOf(runs.map(({ perSecond }) => perSecond))),
    ratioToNoStore(runs, ({ perSecond }) => perSecond),
    ...(processes.length === 0 ? [] : [spread(spreadOf(runs.map(cpuOf))), ratioToNoStore(runs, cpuOf), ownCost(row)]),
    ...processes.map((process) => optional(microsOf(runs, process))),
    digits(median(runs.map(({ oneClient }) => oneClient.p50))),
    digits(median(runs.map(({ oneClient }) => oneClient.p99))),
    digits(median(runs.map(({ loadMicros }) => loadMicros))),
  ])
  const head = [
    ...['creates', 'a second', 'of no store'],
    // Where it can be read.
    ...(processes.length === 0 ? [] : ['µs of CPU each', 'of no store', 'beyond no store', ...processes]),
    ...['one client: p50 ms', 'p99 ms', 'load µs'],
  ]
  return { head, rows, words: FIRST_HAS_WORDS }
}

export function promisesTable({ creates }: Results): Table {
  const rows = creates.map(({ name, promise }) => [name, promise])
  return { head: ['creates', 'a plant that was acknowledged is'], rows, words: new Set([0, 1]) }
}

export function openLoadTable({ openLoad }: Results): Table {
  const rows = openLoad.flatMap(({ name, runs }) =>
    RATES_PER_SECOND.map((rate, n) => {
      const atRate = runs.map(({ atRates }) => atRates[n] as AtRate)
      const middle = (of: (run: AtRate) => number | undefined) => {
        const values = atRate.map(of)
        return values.some((value) => value === undefined) ? NOTHING : digits(median(values as number[]))
      }
      return [
        name,
        rate.toLocaleString('en'),
        middle(({ latency }) => latency.p50),
        middle(({ latency }) => latency.p90),
        spread(spreadOf(atRate.map(({ latency }) => latency.p99))),
        middle(({ latency }) => latency.p999),
        middle(({ latency }) => latency.max),
        middle(({ sentLate }) => sentLate.p99),
        middle(({ lag }) => lag?.p50),
        middle(({ lag }) => lag?.p99),
        middle(cpuOf),
      ]
    }),
  )
  const head = [
    ...['latency in ms, open loop', 'creates/s', 'p50', 'p90', 'p99', 'p99.9', 'max', 'sent late p99'],
    ...['projection lag p50', 'p99', 'µs of CPU each'],
  ]
  return { head, rows, words: FIRST_HAS_WORDS }
}

export function overloadTable({ openLoad }: Results): Table {
  const rows = openLoad.flatMap(({ name, runs }) => {
    const overloads = runs.flatMap(({ overload }) => (overload === undefined ? [] : [overload]))
    if (overloads.length === 0) return []
    const middle = (of: (run: (typeof overloads)[number]) => number) => digits(median(overloads.map(of)))
    return [
      [
        name,
        middle(({ peakPerSecond }) => peakPerSecond),
        middle(({ offeredPerSecond }) => offeredPerSecond),
        middle(({ goodPerSecond }) => goodPerSecond),
        middle(({ goodPerSecond, peakPerSecond }) => goodPerSecond / peakPerSecond),
        middle(({ refusedPerSecond }) => refusedPerSecond),
        middle(({ givenUp }) => givenUp),
        middle(({ loadCores }) => loadCores),
      ],
    ]
  })
  const head = [
    'three times too much',
    'peak/s',
    'offered/s',
    'good/s',
    'of the peak',
    'refused/s',
    'not sent',
    'load’s cores',
  ]
  return { head, rows, words: FIRST_HAS_WORDS }
}

export function projectionsTable({ projections }: Results): Table {
  const readers = projections?.readers ?? []
  const base = readers[0]?.runs.map(({ eventsPerSecond }) => eventsPerSecond) ?? []
  const rows = readers.map(({ reader, runs }) => {
    const rates = runs.map(({ eventsPerSecond }) => eventsPerSecond)
    const bytes = median(runs.map(({ redisBytesPerEvent }) => redisBytesPerEvent))
    return [
      reader,
      spread(spreadOf(rates)),
      digits(ratioOf(rates, base).median, '×'),
      digits(median(runs.map(({ cpuMicros }) => cpuMicros))),
      digits(median(runs.map(({ redisMicros }) => redisMicros))),
      // What a reader without a read model leaves is noise.
      bytes > 1 ? digits(bytes) : NOTHING,
    ]
  })
  const head = ['projections', 'events/s', 'of the first', 'µs of CPU each', 'of Redis', 'MB per million']
  return { head, rows, words: FIRST_HAS_WORDS }
}

export function targetsTable(results: Results): Table {
  const rows = againstTargets(results).map(({ number, what, target, measured, verdict }) => [
    ...[String(number), what, target, measured ?? NOTHING, verdict],
  ])
  return { head: ['', 'target', 'is', 'measured', ''], rows, words: new Set([1, 2, 3, 4]) }
}

const optional = (value: number | undefined) => (value === undefined ? NOTHING : digits(value))
