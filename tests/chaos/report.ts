import type { Experiment } from './experiment.ts'
import type { CreateRequest, Request } from './history.ts'
import type { Run } from './run.ts'

const PAIR = 'two of these at once'

/** What the report needs of a run, without its requests. */
export type Summary = Pick<Run, 'seed' | 'lastedMs' | 'violations'> & {
  experiments: Measured[]
  /** How often each kind of request got each kind of response. */
  responses: ReadonlyMap<string, number>
}
type Measured = { kind: string; gapMs: number; recoveryMs: number; latencies: number[] }

export function summaryOf(run: Run): Summary {
  const creates = run.requests.filter((request): request is CreateRequest => request.kind === 'create')
  const responses = Map.groupBy(run.requests, (request) => `${request.kind} | ${responseOf(request)}`)
  return {
    ...{ seed: run.seed, lastedMs: run.lastedMs, violations: run.violations },
    experiments: run.experiments.map((experiment) => measure(creates, experiment)),
    responses: new Map([...responses].map(([kind, { length }]) => [kind, length])),
  }
}

/** What the runs did and found, in Markdown. */
export function reportOf(runs: readonly Summary[]): string {
  const experiments = runs.flatMap((run) => run.experiments)
  const kinds = Map.groupBy(experiments, ({ kind }) => kind)
  const rows = sorted([...kinds]).map(([kind, all]) => rowOf(kind, all))
  const responses = new Map<string, number>()
  for (const [kind, count] of runs.flatMap((run) => [...run.responses]))
    responses.set(kind, (responses.get(kind) ?? 0) + count)
  const requests = [...responses.values()].reduce((sum, count) => sum + count, 0)
  const minutes = Math.round(runs.reduce((sum, { lastedMs }) => sum + lastedMs, 0) / 60_000)
  const violations = runs.flatMap(({ seed, violations }) => violations.map((text) => `- seed ${seed}: ${text}\n`))
  return [
    `\n${experiments.length} experiments in ${runs.length} runs (seeds ${runs[0]?.seed} to ${runs.at(-1)?.seed}) of `,
    `${minutes} minutes together, ${requests} requests, ${violations.length} violations.\n\n${violations.join('')}`,
    '\n| fault | times | without a successful create, longest | recovered after, longest | p99 of creates |\n',
    `|---|---:|---:|---:|---:|\n${rows.join('')}`,
    '\n| request | response | count |\n|---|---|---:|\n',
    ...sorted([...responses]).map(([kind, count]) => `| ${kind} | ${count} |\n`),
  ].join('')
}

function measure(creates: readonly CreateRequest[], experiment: Experiment): Measured {
  const { faults, startedAt, healedAt, recoveredAt = Infinity } = experiment
  const succeeded = creates.filter(
    ({ status, endedAt }) => status === 200 && endedAt >= startedAt && endedAt <= recoveredAt,
  )
  const ends = [startedAt, ...succeeded.map(({ endedAt }) => endedAt)]
  return {
    kind: faults.length > 1 ? PAIR : String(faults[0]).replace(/ \(.*/, ''),
    gapMs: Math.max(0, ...ends.slice(1).map((end, n) => end - (ends[n] as number))),
    recoveryMs: recoveredAt - healedAt,
    latencies: succeeded.map((create) => create.endedAt - create.startedAt),
  }
}

function rowOf(kind: string, all: readonly Measured[]): string {
  const longest = (of: (measured: Measured) => number) => Math.max(...all.map(of))
  const latencies = all.flatMap(({ latencies }) => latencies).sort((a, b) => a - b)
  const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  return `| ${kind} | ${all.length} | ${seconds(longest(({ gapMs }) => gapMs))} | ${seconds(longest(({ recoveryMs }) => recoveryMs))} | ${seconds(p99)} |\n`
}

const sorted = <T>(entries: [string, T][]) => entries.sort(([a], [b]) => a.localeCompare(b))

function responseOf(request: Request): string {
  if (request.kind === 'list') return request.isComplete ? '200' : String(request.error ?? 'none')
  return String(request.error ?? request.status ?? 'none')
}
