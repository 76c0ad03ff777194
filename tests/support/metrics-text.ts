import type { Metrics } from '@plant-store/shared/runtime/metrics.ts'
import type { RunningService } from './plant-store.ts'

export type Sample = { name: string; labels: Record<string, string>; value: number }

/** The metrics of a service, as they are now. */
export const scrape = async ({ opsUrl }: RunningService): Promise<Sample[]> =>
  samplesIn(await (await fetch(`${opsUrl}/metrics`)).text())

/** The sum of all samples of that name that have these labels, among others; undefined when there is none. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
}

/** The values of a metric in this process, by the label `reason`, or by the suffix of their names. */
export async function valuesOf(metrics: Metrics, name: string): Promise<Record<string, number>> {
  const samples = samplesIn(await metrics.metrics()).filter((sample) => sample.name.startsWith(name))
  return Object.fromEntries(samples.map((one) => [one.labels.reason ?? one.name.slice(name.length), one.value]))
}

/** The samples in metrics that prom-client has written. `dashboard.long` has Prometheus check their format. */
export function samplesIn(text: string): Sample[] {
  return [...text.matchAll(/^(\w+)(?:\{(.*?)\})? (\S+)$/gm)].map(([, name = '', labels = '', value]) => ({
    name,
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, text]) => [label, text])),
    value: Number(value),
  }))
}
