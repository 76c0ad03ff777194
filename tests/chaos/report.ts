import type { Experiment } from './experiment.ts'
import type { CreateRequest, Request } from './history.ts'
import type { Run } from './run.ts'

const PAIR = 'two of these at once'

/** What the runs did and found, in Markdown. */
export function reportOf(runs: readonly Run[]): string {
  const experiments = runs.flatMap((run) => run.experiments.map((experiment) => measure(run, experiment)))
  const kinds = Map.groupBy(experiments, ({ kind }) => kind)
  const rows = [...kinds].sort(([a], [b]) => a.localeCompare(b)).map(([kind, all]) => rowOf(kind, all))
  const requests = runs.flatMap((run) => run.requests)
  const violations = runs.flatMap((run) => run.violations.map((violation) => `- seed ${run.seed}: ${violation}\n`))
  const seeds = runs.map(({ seed }) => seed)
  return [
    `\n${experiments.length} experiments in ${runs.length} runs (seeds ${seeds[0]} to ${seeds.at(-1)}), `,
    `${requests.length} requests, ${violations.length} violations.\n\n${violations.join('')}`,
    '\n| fault | times | without a successful create, longest | recovered after, longest | p99 of creates |\n',
    `|---|---:|---:|---:|---:|\n${rows.join('')}`,
    '\n| request | response | count |\n|---|---|---:|\n',
    ...responses(requests),
  ].join('')
}

type Measured = { kind: string; gapMs: number; recoveryMs: number; latencies: number[] }

function measure({ requests }: Run, { faults, startedAt, healedAt, recoveredAt = Infinity }: Experiment): Measured {
  const isWithin = ({ endedAt }: Request) => endedAt >= startedAt && endedAt <= recoveredAt
  const creates = requests.filter((request): request is CreateRequest => request.kind === 'create')
  const succeeded = creates.filter((create) => create.status === 200 && isWithin(create))
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

function responses(requests: readonly Request[]): string[] {
  const kinds = Map.groupBy(requests, (request) => `${request.kind} | ${responseOf(request)}`)
  return [...kinds].sort(([a], [b]) => a.localeCompare(b)).map(([kind, all]) => `| ${kind} | ${all.length} |\n`)
}

function responseOf(request: Request): string {
  if (request.kind === 'list') return request.items === undefined ? String(request.error ?? 'none') : '200'
  return String(request.error ?? request.status ?? 'none')
}
