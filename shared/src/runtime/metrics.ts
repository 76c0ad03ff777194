import { createHistogram } from 'node:perf_hooks'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry, type RegistryContentType } from 'prom-client'
import { version } from './version.ts'

/** The metrics of one process for Prometheus; docs/reference/metrics.md explains each. */
export type Metrics = Registry

/**
 * Creates a registry with the version of this service and Node's default metrics: memory, CPU, event-loop delay. Only
 * the OpenMetrics format, used when `withExemplars`, has exemplars.
 */
export function createMetrics(service: string, { withExemplars = false } = {}): Metrics {
  const metrics = new Registry()
  if (withExemplars) (metrics as Registry<RegistryContentType>).setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  collectDefaultMetrics({ register: metrics })
  const name = 'plant_store_build_info'
  const help = 'Always 1; the labels have the service and its version.'
  new Gauge({ name, help, labelNames: ['service', 'version'], registers: [metrics] }).set({ service, version }, 1)
  return metrics
}

type MoreOfHistogram<L extends string> = { labelNames?: L[]; enableExemplars?: boolean }

/** Functions that add metrics of this store; all names have its prefix. */
export function metricsIn(metrics: Metrics) {
  const registers = [metrics]
  const named = (name: string, help: string) => ({ name: `plant_store_${name}`, help, registers })
  return {
    /** True if histograms may have exemplars. */
    enableExemplars: metrics.contentType !== Registry.PROMETHEUS_CONTENT_TYPE,

    counter: <L extends string>(name: string, help: string, labelNames: L[] = []) =>
      new Counter({ ...named(name, help), labelNames }),

    histogram: <L extends string>(name: string, help: string, buckets: number[], more: MoreOfHistogram<L> = {}) =>
      new Histogram({ ...named(name, help), buckets, ...more }),

    /** A gauge that is read at each scrape; while `read` returns undefined there is no sample. */
    gauge: (name: string, help: string, read: () => number | undefined) =>
      new Gauge({
        ...named(name, help),
        collect() {
          const value = read()
          if (value === undefined) this.remove()
          else this.set(value)
        },
      }),
  }
}

/** Counts items, and measures the time that each of their batches takes. */
export function createMeter() {
  const microseconds = createHistogram()
  let items = 0
  let readAt = performance.now()
  return {
    record(ms: number, count = 1): void {
      microseconds.record(Math.max(1, Math.round(ms * 1_000)))
      items += count
    },

    /** The items a second since the last call, and percentiles of the times; null when nothing was recorded. */
    read() {
      const percentileMs = (percent: number) =>
        microseconds.count === 0 ? null : microseconds.percentile(percent) / 1_000
      const now = performance.now()
      const found = { perSecond: (items * 1_000) / (now - readAt), p50Ms: percentileMs(50), p99Ms: percentileMs(99) }
      microseconds.reset()
      items = 0
      readAt = now
      return found
    },
  }
}
