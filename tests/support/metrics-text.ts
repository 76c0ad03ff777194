export type Sample = { name: string; labels: Record<string, string>; value: number }

/** The samples in metrics that prom-client has written. `dashboard.long` has Prometheus check their format. */
export function samplesIn(text: string): Sample[] {
  return [...text.matchAll(/^(\w+)(?:\{(.*?)\})? (\S+)$/gm)].map(([, name = '', labels = '', value]) => ({
    name,
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, text]) => [label, text])),
    value: Number(value),
  }))
}
