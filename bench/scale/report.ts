import { type Circumstances, onWhat } from '../environment.ts'
import { median, ratioOf, spreadOf } from '../measure/spread.ts'
import { digits, spread } from '../report/figures.ts'
import { markdownTable, plainTable, type Table } from '../report/table.ts'
import { BULK_EVENTS, type BulkTail } from './bulk-tail.ts'
import { type Deployment, KINDS, type Run } from './deployment.ts'

/** All that one run measured, as docs/bench/scale.json has it. Runs are in the order of their rounds. */
export type Results = Circumstances & {
  effort: { rounds: number; seconds: number; connections: number }
  deployments: readonly Deployed[]
  bulkTail: readonly BulkTail[]
}
export type Deployed = Deployment & { runs: readonly Run[] }

export function plainReport(results: Results): string {
  return [circumstances(results), ...tablesOf(results).map(plainTable), bulkTailOf(results)].join('\n\n')
}

export function markdownReport(results: Results): string {
  const parts = [
    '# Several apis and projectors on one machine',
    '`npm run bench:scale` measures this; [scaling.md](../explanation/scaling.md) continues from it.',
    circumstances(results),
    ...tablesOf(results).map(markdownTable),
    bulkTailOf(results),
  ]
  return `${parts.join('\n\n')}\n`
}

function circumstances(results: Results): string {
  const { rounds, seconds, connections } = results.effort
  return [
    onWhat(results),
    `${rounds} rounds of ${seconds} s with ${connections} clients in a closed loop, spread over the apis: medians, and from the`,
    'lowest to the highest. A quiet api gets no requests: its CPU is the cost of reading the log.',
  ].join('\n')
}

const tablesOf = (results: Results) => [ratesTable(results), cpuTable(results)]

function bulkTailOf({ bulkTail }: Results): string {
  const [micros, rate] = [bulkTail.map(({ cpuMicros }) => cpuMicros), bulkTail.map(({ perSecond }) => perSecond)]
  return `A quiet api, while ${BULK_EVENTS.toLocaleString('en')} events are appended as fast as the log accepts them: ${spread(spreadOf(micros))} µs an event, at ${spread(spreadOf(rate))} a second.`
}

function ratesTable({ deployments }: Results): Table {
  const [first] = deployments
  const rate = ({ perSecond }: Run) => perSecond
  const rows = deployments.map(({ runs, ...deployment }) => [
    nameOf(deployment),
    spread(spreadOf(runs.map(rate))),
    `${digits(ratioOf(runs.map(rate), first?.runs.map(rate) ?? []).median)}×`,
    `${Math.round(100 * median(runs.map(({ machineBusy }) => machineBusy)))} %`,
  ])
  const head = ['services', 'creates/s', 'of the first', 'cores in use']
  return { head, rows, words: new Set([0]) }
}

function cpuTable({ deployments }: Results): Table {
  const rows = deployments.map(({ runs, ...deployment }) => {
    const all = median(runs.map(allOf))
    return [
      nameOf(deployment),
      spread(spreadOf(runs.map(allOf))),
      ...KINDS.map((kind) => {
        const micros = median(runs.map(({ cpuMicros }) => cpuMicros[kind]))
        return micros === 0 ? '' : `${digits(micros)} (${Math.round((100 * micros) / all)} %)`
      }),
    ]
  })
  const head = ['µs of CPU a create', 'all', ...KINDS]
  return { head, rows, words: new Set([0]) }
}

const allOf = ({ cpuMicros }: Run) => Object.values<number>(cpuMicros).reduce((sum, micros) => sum + micros, 0)

export function nameOf({ apis, quietApis, projectors }: Deployment): string {
  const of = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
  const quiet = quietApis === 0 ? [] : [of(quietApis, 'quiet api')]
  return [of(apis, 'api'), ...quiet, of(projectors, 'projector')].join(', ')
}
