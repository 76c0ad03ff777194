import { median, spreadOf } from '../measure/spread.ts'
import { type AtRate, RATES_PER_SECOND } from '../side-by-side/open-load.ts'
import { barChart } from './charts/bars.ts'
import { latencyChart } from './charts/latencies.ts'
import { digits } from './figures.ts'
import { cpuOf, type Results } from './results.ts'
import { microsOf, processesOf } from './tables.ts'

/** One more than there are processes in any row. */
const COLOURS = ['#059669', '#86efac', '#2563eb', '#ea580c', '#7c3aed', '#64748b']

/** Charts of what was measured, by the names of their files. */
export function chartsOf(results: Results): Map<string, string> {
  const charts = new Map<string, string>()
  if (results.creates.length > 0) charts.set('creates.svg', ratesChart(results))
  if (processesOf(results.creates).length > 0) charts.set('cpu.svg', cpuChart(results))
  if (results.openLoad.length > 0) charts.set('latency.svg', openLoadChart(results))
  return charts
}

function ratesChart({ creates, connections }: Results): string {
  const bars = creates.map(({ name, runs }) => {
    const spread = spreadOf(runs.map(({ perSecond }) => perSecond))
    return {
      label: name,
      segments: [{ name: 'creates a second', value: spread.median }],
      figure: digits(spread.median),
      range: spread,
    }
  })
  const unit = `a second, ${connections} clients; medians, and from the lowest round to the highest`
  return barChart({ title: 'Creates', unit, bars, colours: new Map([['creates a second', '#6ee7b7']]) })
}

function cpuChart({ creates }: Results): string {
  const processes = processesOf(creates)
  const bars = creates.map(({ name, runs }) => ({
    label: name,
    segments: processes.flatMap((process) => {
      const value = microsOf(runs, process)
      return value === undefined ? [] : [{ name: process, value }]
    }),
    figure: digits(median(runs.map(cpuOf))),
  }))
  const colours = new Map(processes.map((process, n) => [process, COLOURS[n % COLOURS.length] as string]))
  return barChart({ title: 'CPU of one create', unit: 'µs in each process; medians', bars, colours })
}

function openLoadChart({ openLoad }: Results): string {
  const lines = openLoad.map(({ name, runs }, n) => ({
    label: name,
    colour: ['#059669', '#7c3aed', '#ea580c'][n % 3] as string,
    points: RATES_PER_SECOND.map((rate, at) => ({
      at: rate.toLocaleString('en'),
      ms: median(runs.map(({ atRates }) => (atRates[at] as AtRate).latency.p99)),
    })),
  }))
  const unit = 'p99 in ms from the time a request was due, by creates a second; medians of the rounds'
  return latencyChart('Latency in an open loop', unit, lines)
}
