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

/** Returns a function that reads how much a counter grew in a second, since its last call. */
export function rateOf(counter: Counter): () => Promise<number> {
  let before = 0
  let readAt = performance.now()
  return async () => {
    const { values } = await counter.get()
    const count = values.reduce((sum, { value }) => sum + value, 0)
    const perSecond = ((count - before) * 1_000) / (performance.now() - readAt)
    before = count
    readAt = performance.now()
    return perSecond
  }
}

/** Returns a function that reads the growth of a histogram of seconds since its last call. */
export function growthOf(histogram: Histogram, isCounted = (_labels: Labels) => true) {
  let before = new Map<number, number>()
  let readAt = performance.now()

  return async () => {
    const { values } = await histogram.get()
    const counts = new Map<number, number>()
    for (const { labels: found, value, metricName } of values as BucketValue[]) {
      if (!metricName?.endsWith('_bucket') || !isCounted(found)) continue
      const bound = found.le === '+Inf' ? Infinity : Number(found.le)
      counts.set(bound, (counts.get(bound) ?? 0) + value)
    }
    const bounds = [...counts.keys()].sort((a, b) => a - b)
    const grown = bounds.map((bound) => (counts.get(bound) ?? 0) - (before.get(bound) ?? 0))
    const seconds = (performance.now() - readAt) / 1_000
    before = counts
    readAt = performance.now()
    return {
      perSecond: (grown.at(-1) ?? 0) / seconds,
      // As exact as the buckets are; null when nothing was counted.
      p50Ms: quantileMs(bounds, grown, 0.5),
      p99Ms: quantileMs(bounds, grown, 0.99),
    }
  }
}

type Labels = Readonly<Record<string, string | number | undefined>>
type BucketValue = { labels: Labels; value: number; metricName?: string }

/** As `histogram_quantile` of Prometheus: values are taken to lie evenly within a bucket. */
function quantileMs(bounds: readonly number[], counts: readonly number[], quantile: number): number | null {
  const total = counts.at(-1) ?? 0
  if (total === 0) return null
  const rank = quantile * total
  const at = counts.findIndex((count) => count >= rank)
  const upper = bounds[at] ?? Infinity
  const lower = bounds[at - 1] ?? 0
  if (upper === Infinity) return lower * 1_000
  const below = counts[at - 1] ?? 0
  return (lower + ((upper - lower) * (rank - below)) / ((counts[at] as number) - below)) * 1_000
}
