import type { Experiment } from './experiment.ts'
import type { CreateRequest, Request } from './history.ts'
import { gapsOf, isJudged, toleranceOf } from './liveness.ts'

const PAIR = 'two of these at once'
const SLOW_MS = 1_000

/** `dir` has the evidence of a violation. */
export type Run = {
  seed: number
  dir: string
  /** From the start of the services to the end of the last experiment. */
  lastedMs: number
  experiments: Experiment[]
  requests: readonly Request[]
  violations: string[]
  /** The violations that the judge found. */
  judged: string[]
}

/** The data of a run that the report needs, without its requests. */
export type Summary = Pick<Run, 'seed' | 'lastedMs' | 'violations'> & {
  experiments: Measured[]
  /** The number of responses, by kind of request and kind of response. */
  responses: ReadonlyMap<string, number>
}
/** The creates from the injection of the fault to its end. `unaffected`: the times of creates that nothing may stop. */
type Measured = {
  kind: string
  count: number
  failed: number
  slow: number
  gapMs: number
  recoveryMs: number
  unaffected: readonly number[]
}

export function summaryOf(run: Run): Summary {
  const responses = Map.groupBy(run.requests, (request) => `${request.kind} | ${responseOf(request)}`)
  return {
    ...{ seed: run.seed, lastedMs: run.lastedMs, violations: run.violations },
    experiments: run.experiments.map((experiment) => measure(run.requests, experiment)),
    responses: new Map([...responses].map(([kind, { length }]) => [kind, length])),
  }
}

/** The report of the runs and their findings, in Markdown. */
export function reportOf(runs: readonly Summary[]): string {
  const experiments = runs.flatMap((run) => run.experiments)
  const kinds = Map.groupBy(experiments, ({ kind }) => kind)
  const rows = sorted([...kinds]).map(([kind, all]) => `| ${kind} | ${all.length} | ${figuresOf(all).join(' | ')} |\n`)
  const responses = new Map<string, number>()
  for (const [kind, count] of runs.flatMap((run) => [...run.responses]))
    responses.set(kind, (responses.get(kind) ?? 0) + count)
  const requests = [...responses.values()].reduce((sum, count) => sum + count, 0)
  const minutes = Math.round(runs.reduce((sum, { lastedMs }) => sum + lastedMs, 0) / 60_000)
  const violations = runs.flatMap(({ seed, violations }) => violations.map((text) => `- seed ${seed}: ${text}\n`))
  return [
    `\n${experiments.length} experiments in ${runs.length} runs (seeds ${runs[0]?.seed} to ${runs.at(-1)?.seed}) of `,
    `${minutes} minutes together, ${requests} requests, ${violations.length} violations.\n\n${violations.join('')}`,
    `\n| fault | times | ${FIGURES.join(' | ')} |\n|---|---:|${FIGURES.map(() => '---:|').join('')}\n${rows.join('')}`,
    '\n| request | response | count |\n|---|---|---:|\n',
    ...sorted([...responses]).map(([kind, count]) => `| ${kind} | ${count} |\n`),
  ].join('')
}

/** An experiment, with its figures until now. */
export function lineOf(experiment: Experiment, requests: readonly Request[]): string {
  const { number, faults, startedAt, healedAt, recoveredAt } = experiment
  const figures = figuresOf([measure(requests, experiment)]).map((figure, n) => `${FIGURES[n]} ${figure}`)
  const end = recoveredAt === undefined ? ', NOT RECOVERED' : ''
  return `${number}. ${faults.join(' + ')}: ${seconds(healedAt - startedAt)}${end}; ${figures.join('; ')}`
}

function measure(requests: readonly Request[], experiment: Experiment): Measured {
  const { faults, startedAt, healedAt, recoveredAt = Infinity } = experiment
  const creates = requests
    .filter((request): request is CreateRequest => request.kind === 'create' && isJudged(request))
    .filter((create) => create.endedAt > startedAt && create.startedAt < healedAt)
  const isUnaffected = (create: CreateRequest) => {
    const { forMs, gapMs } = toleranceOf(experiment, create)
    return gapMs === 0 && create.startedAt > startedAt + forMs
  }
  const timeOf = (create: CreateRequest) => create.endedAt - create.startedAt
  return {
    kind: faults.length > 1 ? PAIR : String(faults[0]).replace(/ \(.*/, ''),
    count: creates.length,
    failed: creates.filter(({ status }) => status !== 200).length,
    slow: creates.filter((create) => create.status === 200 && timeOf(create) > SLOW_MS).length,
    gapMs: Math.max(0, ...gapsOf(creates).map(({ from, until }) => until - Math.max(from, startedAt))),
    recoveryMs: recoveredAt - healedAt,
    unaffected: creates.filter(isUnaffected).map(timeOf),
  }
}

const FIGURES = ['creates failed', 'over 1 s', 'longest without a success', 'p99 of unaffected', 'recovered after']

function figuresOf(all: readonly Measured[]): string[] {
  const sum = (of: (measured: Measured) => number) => all.reduce((total, measured) => total + of(measured), 0)
  const longest = (of: (measured: Measured) => number) => Math.max(...all.map(of))
  const percent = (part: number) => `${((100 * part) / sum(({ count }) => count)).toFixed(1)} %`
  const times = all.flatMap(({ unaffected }) => unaffected).sort((a, b) => a - b)
  return [
    ...[percent(sum(({ failed }) => failed)), percent(sum(({ slow }) => slow)), seconds(longest(({ gapMs }) => gapMs))],
    ...[seconds(times[Math.floor(times.length * 0.99)]), seconds(longest(({ recoveryMs }) => recoveryMs))],
  ]
}

const seconds = (ms: number | undefined) => (ms === undefined ? '-' : `${(ms / 1000).toFixed(ms < 1_000 ? 2 : 1)} s`)

const sorted = <T>(entries: [string, T][]) => entries.sort(([a], [b]) => a.localeCompare(b))

function responseOf(request: Request): string {
  if (request.kind === 'list') return request.isComplete ? '200' : String(request.error ?? 'none')
  return String(request.error ?? request.status ?? 'none')
}
