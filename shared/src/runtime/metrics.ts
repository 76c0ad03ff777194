import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'

/** What one process tells Prometheus; docs/reference/metrics.md says what each metric means. */
export type Metrics = Registry

/** Metrics of this process's own, with what Node tells of it: memory, CPU, garbage collection, event-loop delay. */
export function createMetrics(): Metrics {
  const metrics = new Registry()
  collectDefaultMetrics({ register: metrics })
  return metrics
}

/** Adds a gauge that is read when somebody asks for the metrics; while it is undefined there is no sample. */
export function addGauge(
  metrics: Metrics,
  name: string,
  help: string,
  read: () => number | undefined,
): Gauge {
  return new Gauge({
    ...{ name, help, registers: [metrics] },
    collect() {
      const value = read()
      if (value === undefined) this.remove()
      else this.set(value)
    },
  })
}
