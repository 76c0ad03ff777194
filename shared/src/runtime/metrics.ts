import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'

/** The metrics of one process for Prometheus; docs/reference/metrics.md explains each. */
export type Metrics = Registry

/** Creates a registry with Node's default metrics: memory, CPU, garbage collection, event-loop delay. */
export function createMetrics(): Metrics {
  const metrics = new Registry()
  collectDefaultMetrics({ register: metrics })
  return metrics
}

/** Adds a gauge that is read at each scrape; while `read` returns undefined there is no sample. */
export function addGauge(metrics: Metrics, name: string, help: string, read: () => number | undefined): Gauge {
  return new Gauge({
    name,
    help,
    registers: [metrics],
    collect() {
      const value = read()
      if (value === undefined) this.remove()
      else this.set(value)
    },
  })
}
