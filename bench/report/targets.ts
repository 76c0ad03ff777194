import { ratioOf, type Spread, spreadOf } from '../measure/spread.ts'
import type { ReaderName } from '../replay/readers.ts'
import type { CreatesRun } from '../side-by-side/creates.ts'
import { spread } from './figures.ts'
import { type CreatesRow, cpuOf, type Results } from './results.ts'

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

/** All targets with the measurements of this run, in the order of their numbers. */
export function againstTargets(results: Results): Target[] {
  return [
    ...createTargets(results),
    ...latencyTargets(results),
    ...projectionTargets(results),
    growthTarget,
    overloadTarget(results),
    cpuTarget(results),
  ].toSorted((a, b) => a.number - b.number)
}

function createTargets({ creates }: Results): Target[] {
  const rate = (run: CreatesRun) => run.perSecond
  const against = (row: string) => ratioOfRows(creates, row, rate)
  const judge = (number: number, what: string, row: string, bound: Bound) =>
    judged(number, `creates/s against ${what}`, against(row), bound, '×')
  const sendCpu = ratioOfRows(creates, 'producer-send', cpuOf)
  return [
    judge(1, 'the same app without a store', 'no-store', { atLeast: 0.6, stretch: 0.75 }),
    judge(2, 'one producer.send a request', 'producer-send', { atLeast: 3, stretch: 4 }),
    judged(2, 'CPU against one producer.send a request', sendCpu, { atMost: 0.4, stretch: 0.25 }, '×'),
    judge(3, 'PostgreSQL', 'postgres', { atLeast: 3 }),
    judge(3, 'emmett on PostgreSQL', 'emmett', { atLeast: 3 }),
  ]
}

function cpuTarget({ creates }: Results): Target {
  const ratio = ratioOfRows(creates, 'no-store', cpuOf)
  const what = 'CPU per create, all processes, against no store'
  return judged(11, what, ratio, { atMost: 2.1, stretch: 1.5 }, '×')
}

function latencyTargets({ creates, halfLoad }: Results): Target[] {
  const p99 = (name: string) => halfLoad.find(({ row }) => row === name)?.runs.map(({ latency }) => latency.p99)
  const [own, postgres] = [p99('this-service'), p99('postgres')]
  const oneClient = creates.find(({ row }) => row === 'this-service')?.runs.map((run) => run.oneClient.p50)
  const against = own && postgres && ratioOf(own, postgres)
  return [
    judged(4, 'p99 at half load, open loop', own && spreadOf(own), { atMost: 15 }, 'ms'),
    judged(4, 'p99 at half load against PostgreSQL’s', against, { atMost: 1 }, '×'),
    judged(5, 'p50, one client at a time', oneClient && spreadOf(oneClient), { atMost: 3 }, 'ms'),
  ]
}

function projectionTargets({ creates, halfLoad, projections }: Results): Target[] {
  const lags = halfLoad
    .find(({ row }) => row === 'this-service')
    ?.runs.flatMap(({ lag }) => (lag === undefined ? [] : [lag.p99]))
  const runsOf = (name: ReaderName) => projections?.readers.find(({ reader }) => reader === name)?.runs
  const rates = (name: ReaderName) => runsOf(name)?.map(({ eventsPerSecond }) => eventsPerSecond)
  const [nothing, replayed] = [rates('kafkajs alone, doing nothing'), rates('replayed into Redis')]
  const rebuilt = rates('rebuilt: filled, verified, switched to')
  const live = creates.find(({ row }) => row === 'this-service')?.runs.map((run) => run.perSecond)
  const catchUp = live && replayed && scaled(spreadOf(replayed), 1 / spreadOf(live).median)
  const memory = runsOf('replayed into Redis')?.map((run) => (run.redisBytesPerEvent * 1e6) / MEGABYTE)
  return [
    judged(6, 'projection lag at half load, p99', lags && spreadOrNone(lags), { atMost: 25 }, 'ms'),
    judged(6, 'catch-up against the live rate', catchUp, { atLeast: LIVE_TIMES }, '×'),
    judged(
      7,
      'rebuild against a consumer that does nothing',
      rebuilt && nothing && ratioOf(rebuilt, nothing),
      { atLeast: 0.6 },
      '×',
    ),
    judged(7, 'rebuild, events/s', rebuilt && spreadOf(rebuilt), { atLeast: 120_000 }, ''),
    judged(8, 'Redis memory per million plants', memory && spreadOf(memory), { atMost: 170 }, 'MB'),
  ]
}

const growthTarget: Target = {
  number: 9,
  what: 'cost per create and per read, 10^4 to 10^7 plants: see bench:growth',
  target: 'within 10 %',
  measured: undefined,
  verdict: 'not measured',
}

function overloadTarget({ halfLoad }: Results): Target {
  const goodput = halfLoad
    .find(({ row }) => row === 'this-service')
    ?.runs.flatMap(({ overload }) => (overload === undefined ? [] : [overload.goodPerSecond / overload.peakPerSecond]))
  return judged(10, 'goodput at 3× overload against the peak', goodput && spreadOrNone(goodput), { atLeast: 0.9 }, '×')
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
  unit: '×' | 'ms' | 'MB' | '',
): Target {
  const [sign, limit] = 'atLeast' in bound ? ['≥', bound.atLeast] : ['≤', bound.atMost]
  const inUnit = (text: string) => (unit === '' ? text : `${text}${unit === '×' ? '' : ' '}${unit}`)
  const stretch = bound.stretch === undefined ? '' : ` (${inUnit(String(bound.stretch))})`
  const target = `${sign} ${inUnit(limit.toLocaleString('en'))}${stretch}`
  if (measured === undefined || Number.isNaN(measured.median))
    return { number, what, target, measured: undefined, verdict: 'not measured' }
  const holds = (to: number) => ('atLeast' in bound ? measured.median >= to : measured.median <= to)
  const verdict = !holds(limit) ? 'missed' : bound.stretch !== undefined && holds(bound.stretch) ? 'stretch met' : 'met'
  return { number, what, target, measured: inUnit(spread(measured)), verdict }
}
