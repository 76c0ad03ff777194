import { onWhat } from '../environment.ts'
import { median, spreadOf } from '../measure/spread.ts'
import { digits, spread } from '../report/figures.ts'
import { markdownTable, plainTable, type Table } from '../report/table.ts'
import type { Visit } from './grown-store.ts'
import { cpuOf, growthOf, type Kind, MAX_GROWTH, type Results, type Size } from './results.ts'

const WORDS = new Set([0])
const MEGABYTE = 1e6
const KINDS: readonly Kind[] = ['creates', 'reads']

export function plainReport(results: Results): string {
  return [circumstances(results), ...tablesOf(results).map(plainTable), verdict(results)].join('\n\n')
}

export function markdownReport(results: Results): string {
  const parts = [
    '# What a store costs as it grows',
    '`npm run bench:growth` measures this; [performance.md](../explanation/performance.md#as-a-store-grows) explains how to read it.',
    circumstances(results),
    '![µs of CPU a create and a read, by plants in the store](growth.svg)',
    ...tablesOf(results).map(markdownTable),
    verdict(results),
  ]
  return `${parts.join('\n\n')}\n`
}

function circumstances(results: Results): string {
  const { rounds, seconds, connections } = results.effort
  return [
    onWhat(results),
    `${rounds} rounds, ${seconds} s of reads and ${seconds} s of creates in each, with ${connections} clients in a closed loop: medians, and`,
    'from the lowest to the highest. CPU is of api, broker, projector and Redis together for a create, of api and Redis for a read.',
    'The log is on one broker; a create is acknowledged when it is in its memory.',
  ].join('\n')
}

function tablesOf(results: Results): Table[] {
  return [costsTable(results), processesTable(results), standingTable(results)]
}

function costsTable({ sizes }: Results): Table {
  const rows = sizes.map((size) => [
    grouped(size.plants),
    ...KINDS.flatMap((kind) => [
      middle(size, (visit) => visit[kind].perSecond),
      spread(spreadOf(size.visits.map((visit) => cpuOf(visit[kind])))),
      `${spread(growthOf(sizes[0] ?? size, size, kind))}×`,
    ]),
    grouped(Math.round(median(size.visits.map(({ plantsAfter }) => plantsAfter)))),
  ])
  const head = [
    ...['plants', ...KINDS.flatMap((kind) => [`${kind}/s`, 'µs of CPU each', 'of the smallest'])],
    'plants after the creates',
  ]
  return { head, rows, words: WORDS }
}

function processesTable({ sizes }: Results): Table {
  const [visit] = sizes[0]?.visits ?? []
  const parts = KINDS.flatMap((kind) => Object.keys(visit?.[kind].cpuMicros ?? {}).map((name) => ({ kind, name })))
  const rows = sizes.map((size) => [
    grouped(size.plants),
    ...parts.map(({ kind, name }) => middle(size, (visit) => visit[kind].cpuMicros[name] ?? Number.NaN)),
  ])
  const head = ['µs of CPU', ...parts.map(({ kind, name }) => `${kind}: ${name}`)]
  return { head, rows, words: WORDS }
}

function standingTable({ sizes }: Results): Table {
  const rows = sizes.map((size) => {
    const { filled, rebuilt } = size
    const redisBytes = median(filled.map(({ plants, redisBytes }) => redisBytes / plants))
    return [
      grouped(size.plants),
      middle(size, ({ apiReadyMs }) => apiReadyMs / 1_000),
      middle(size, ({ projectorReadyMs }) => projectorReadyMs / 1_000),
      digits(rebuilt.seconds),
      digits(rebuilt.plants / rebuilt.seconds),
      digits(redisBytes),
      middle(size, ({ apiBytes }) => apiBytes / MEGABYTE),
      middle(size, ({ projectorBytes }) => projectorBytes / MEGABYTE),
    ]
  })
  const head = [
    ...['plants', 'api ready after s', 'projector ready after s', 'rebuilt in s', 'rebuilt/s'],
    ...['Redis MB per million', 'api MB', 'projector MB'],
  ]
  return { head, rows, words: WORDS }
}

function verdict({ sizes }: Results): string {
  const [smallest, largest] = [sizes[0], sizes.at(-1)]
  if (smallest === undefined || largest === undefined) throw new Error('nothing was measured')
  const growths = KINDS.map((kind) => {
    const growth = Math.max(...sizes.map((size) => growthOf(smallest, size, kind).median))
    return `${kind} ${digits(growth)}× at most, ${growth <= MAX_GROWTH ? 'met' : 'missed'}`
  })
  return `Target 9: from ${grouped(smallest.plants)} to ${grouped(largest.plants)} plants the cost grows by no more than a tenth: ${growths.join('; ')}.`
}

const middle = ({ visits }: Size, of: (visit: Visit) => number) => digits(median(visits.map(of)))
const grouped = (value: number) => value.toLocaleString('en')
