import { ratioOf, type Spread, spreadOf } from '../measure/spread.ts'
import type { ReaderName } from '../replay/readers.ts'
import type { CreatesRun } from '../side-by-side/creates.ts'
import { type AtRate, RATES_PER_SECOND } from '../side-by-side/open-load.ts'
import { spread } from './figures.ts'
import { type CreatesRow, cpuOf, type Results, storeCosts } from './results.ts'

/** A target, and the measurement to compare with it. */
export type Target = {
  number: number
  what: string
  target: string
  /** With its spread; undefined when this run has not measured it. */
  measured: string | undefined
  verdict: 'met' | 'missed' | 'stretch met' | 'not measured'
}

type Bound = { atLeast: number; stretch?: number } | { atMost: number; stretch?: number }

const LIVE_TIMES = 10
const MEGABYTE = 1e6
const MAX_P99_MS = 15
const QUIET_PER_SECOND = 300
const RATES_WITH_LATENCY_TARGETS = RATES_PER_SECOND.filter((rate) => rate > QUIET_PER_SECOND)
const MOST_PER_SECOND = Math.max(...RATES_PER_SECOND)

/** All targets with the measurements of this run, in the order of their numbers. */
export function againstTargets(results: Results): Target[] {
  return [
    ...createTargets(results),
    ...latencyTargets(results),
    ...projectionTargets(results),
    growthTarget,
    overloadTarget(results),
    ...scaleTargets,
    quietTarget(results),
  ].toSorted((a, b) => a.number - b.number)
}

function createTargets({ creates }: Results): Target[] {
  const rate = (run: CreatesRun) => run.perSecond
  const own = storeCosts(creates, 'this-service')
  const costAgainst = (number: number, what: string, row: string, bound: Bound) => {
    const other = storeCosts(creates, row)
    return judged(
      number,
      `the store’s own CPU against that of ${what}`,
      own && other && ratioOf(own, other),
      bound,
      '×',
    )
  }
  const ofNoStore = { rate: ratioOfRows(creates, 'no-store', rate), cpu: ratioOfRows(creates, 'no-store', cpuOf) }
  const ofEmmett = ratioOfRows(creates, 'emmett', rate)
  return [
    judged(1, 'creates/s against the same app without a store', ofNoStore.rate, { atLeast: 0.6, stretch: 0.75 }, '×'),
    judged(2, 'the store’s own CPU per create', own && spreadOf(own), { atMost: 45, stretch: 40 }, 'µs'),
    costAgainst(2, 'one producer.send a request', 'producer-send', { atMost: 0.2 }),
    costAgainst(3, 'PostgreSQL', 'postgres', { atMost: 0.25 }),
    costAgainst(3, 'PostgreSQL, fsync off', 'postgres-no-fsync', { atMost: 0.4 }),
    judged(3, 'creates/s against emmett on PostgreSQL', ofEmmett, { atLeast: 5 }, '×'),
    judged(11, 'CPU per create, all processes, against no store', ofNoStore.cpu, { atMost: 2.1, stretch: 1.7 }, '×'),
  ]
}

function latencyTargets({ creates, openLoad }: Results): Target[] {
  const oneClient = creates.find(({ row }) => row === 'this-service')?.runs.map((run) => run.oneClient.p50)
  return [
    ...RATES_WITH_LATENCY_TARGETS.flatMap((rate) => {
      const p99 = (row: string) => atRate(openLoad, row, rate)?.map(({ latency }) => latency.p99)
      const [own, postgres] = [p99('this-service'), p99('postgres')]
      const against = own && postgres && ratioOf(own, postgres)
      const at = `p99 at ${rate.toLocaleString('en')} creates/s, open loop`
      return [
        judged(4, at, own && spreadOf(own), { atMost: MAX_P99_MS }, 'ms'),
        judged(4, `${at}, against PostgreSQL’s`, against, { atMost: 1 }, '×'),
      ]
    }),
    judged(5, 'p50, one client at a time', oneClient && spreadOf(oneClient), { atMost: 1 }, 'ms'),
  ]
}

function projectionTargets({ creates, openLoad, projections }: Results): Target[] {
  const lags = atRate(openLoad, 'this-service', MOST_PER_SECOND)?.flatMap(({ lag }) => (lag ? [lag.p99] : []))
  const runsOf = (name: ReaderName) => projections?.readers.find(({ reader }) => reader === name)?.runs
  const rates = (name: ReaderName) => runsOf(name)?.map(({ eventsPerSecond }) => eventsPerSecond)
  const [nothing, replayed] = [rates('kafkajs alone, doing nothing'), rates('replayed into Redis')]
  const rebuilt = rates('rebuilt: filled, verified, switched to')
  const live = creates.find(({ row }) => row === 'this-service')?.runs.map((run) => run.perSecond)
  const catchUp = live && replayed && scaled(spreadOf(replayed), 1 / spreadOf(live).median)
  const memory = runsOf('replayed into Redis')?.map((run) => (run.redisBytesPerEvent * 1e6) / MEGABYTE)
  const lagAt = `projection lag at ${MOST_PER_SECOND.toLocaleString('en')} creates/s, p99`
  const ofNothing = rebuilt && nothing && ratioOf(rebuilt, nothing)
  return [
    judged(6, lagAt, lags && spreadOrNone(lags), { atMost: 25 }, 'ms'),
    judged(6, 'catch-up against the live rate', catchUp, { atLeast: LIVE_TIMES }, '×'),
    judged(7, 'rebuild against a consumer that does nothing', ofNothing, { atLeast: 0.6, stretch: 0.8 }, '×'),
    judged(8, 'Redis memory per million plants', memory && spreadOf(memory), { atMost: 130 }, 'MB'),
  ]
}

const growthTarget = notMeasured(
  9,
  'cost per create and per read, 10^4 to 10^7 plants: see bench:growth',
  'within 10 %',
)

const scaleTargets = [
  notMeasured(12, 'CPU per create, two apis against one: see bench:scale', '≤ 1.2×'),
  notMeasured(12, 'CPU per create, four apis against one: see bench:scale', '≤ 1.5×'),
]

function overloadTarget({ openLoad }: Results): Target {
  const goodput = openLoad
    .find(({ row }) => row === 'this-service')
    ?.runs.flatMap(({ overload }) => (overload === undefined ? [] : [overload.goodPerSecond / overload.peakPerSecond]))
  return judged(10, 'goodput at 3× overload against the peak', goodput && spreadOrNone(goodput), { atLeast: 0.9 }, '×')
}

function quietTarget({ openLoad }: Results): Target {
  const micros = atRate(openLoad, 'this-service', QUIET_PER_SECOND)?.map(cpuOf)
  const what = `CPU per create, all processes, at ${QUIET_PER_SECOND} creates/s`
  return judged(13, what, micros && spreadOf(micros), { atMost: 1_200 }, 'µs')
}

function notMeasured(number: number, what: string, target: string): Target {
  return { number, what, target, measured: undefined, verdict: 'not measured' }
}

/** What was measured of a row at a rate, by round. */
function atRate(openLoad: Results['openLoad'], name: string, rate: number): AtRate[] | undefined {
  return openLoad
    .find(({ row }) => row === name)
    ?.runs.flatMap(({ atRates }) => atRates.filter(({ ratePerSecond }) => ratePerSecond === rate))
}

/** The ratio of this service to another row, round by round. */
function ratioOfRows(
  creates: readonly CreatesRow[],
  other: string,
  of: (run: CreatesRun) => number,
): Spread | undefined {
  const runsOf = (name: string) => creates.find(({ row }) => row === name)?.runs.map(of)
  const [own, others] = [runsOf('this-service'), runsOf(other)]
  return own && others && ratioOf(own, others)
}

const spreadOrNone = (values: readonly number[]) => (values.length === 0 ? undefined : spreadOf(values))

function scaled({ median, min, max, rounds }: Spread, by: number): Spread {
  return { median: median * by, min: min * by, max: max * by, rounds }
}

/** The median decides. */
function judged(
  number: number,
  what: string,
  measured: Spread | undefined,
  bound: Bound,
  unit: '×' | 'µs' | 'ms' | 'MB',
): Target {
  const [sign, limit] = 'atLeast' in bound ? ['≥', bound.atLeast] : ['≤', bound.atMost]
  const inUnit = (text: string) => `${text}${unit === '×' ? '' : ' '}${unit}`
  const stretch = bound.stretch === undefined ? '' : ` (${inUnit(String(bound.stretch))})`
  const target = `${sign} ${inUnit(limit.toLocaleString('en'))}${stretch}`
  if (measured === undefined || Number.isNaN(measured.median)) return notMeasured(number, what, target)
  const holds = (to: number) => ('atLeast' in bound ? measured.median >= to : measured.median <= to)
  const verdict = !holds(limit) ? 'missed' : bound.stretch !== undefined && holds(bound.stretch) ? 'stretch met' : 'met'
  return { number, what, target, measured: inUnit(spread(measured)), verdict }
}
