import { median, spreadOf } from '../measure/spread.ts'
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
  if (results.halfLoad.length > 0) charts.set('latency.svg', halfLoadChart(results))
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

function halfLoadChart({ halfLoad }: Results): string {
  const lines = halfLoad.map(({ name, runs }, n) => {
    const at = (of: 'p50' | 'p90' | 'p99' | 'p999') => median(runs.map(({ latency }) => latency[of]))
    const points = [
      { percentile: 'p50', ms: at('p50') },
      { percentile: 'p90', ms: at('p90') },
      { percentile: 'p99', ms: at('p99') },
      { percentile: 'p99.9', ms: at('p999') },
    ]
    return { label: name, colour: ['#059669', '#7c3aed', '#ea580c'][n % 3] as string, points }
  })
  const unit = 'ms from the time a request was due, each at half of its own highest rate; medians of the rounds'
  return latencyChart('Latency at half load', unit, lines)
}
