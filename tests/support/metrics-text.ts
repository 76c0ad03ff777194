export type Sample = { name: string; labels: Record<string, string>; value: number }
export type MetricFamily = { type: string; help: string; samples: Sample[] }

const HELP = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (\S.*)$/
const TYPE = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$/
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/y
// As strconv.ParseFloat of Go has them, which is what the format refers to.
const NUMBER = /^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf|nan)$/i
const SUFFIXES: Record<string, readonly string[]> = { histogram: ['_bucket', '_sum', '_count'] }

/**
 * Reads metrics in the text format of Prometheus, version 0.0.4. Throws for whatever the format does not allow: a line
 * of another kind, samples without help and type or apart from them, one twice, buckets that do not add up.
 */
export function parseMetrics(text: string): Map<string, MetricFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const families = new Map<string, MetricFamily>()
  const seen = new Set<string>()
  let current: { name: string; family: MetricFamily } | undefined
  for (const line of text.split('\n')) {
    if (line === '') continue
    const [, helped, help] = HELP.exec(line) ?? []
    const [, typed, type] = TYPE.exec(line) ?? []
    if (helped !== undefined && help !== undefined) {
      if (families.has(helped)) throw new Error(`twice: ${line}`)
      current = { name: helped, family: { type: '', help, samples: [] } }
      families.set(helped, current.family)
    } else if (typed !== undefined && type !== undefined) {
      if (current?.name !== typed || current.family.type !== '') throw new Error(`out of place: ${line}`)
      current.family.type = type
    } else {
      const sample = parseSample(line)
      const names = (SUFFIXES[current?.family.type ?? ''] ?? ['']).map((suffix) => `${current?.name}${suffix}`)
      if (!current?.family.type || !names.includes(sample.name)) throw new Error(`out of place: ${line}`)
      const key = keyOf(sample)
      if (seen.has(key)) throw new Error(`twice: ${line}`)
      seen.add(key)
      current.family.samples.push(sample)
    }
  }
  for (const [name, family] of families) expectToAddUp(name, family)
  return families
}

function parseSample(line: string): Sample {
  const [, name, inner = '', number = ''] = SAMPLE.exec(line) ?? []
  if (name === undefined || !NUMBER.test(number)) throw new Error(`no sample: ${line}`)
  return { name, labels: parseLabels(inner, line), value: parseNumber(number) }
}

function parseNumber(text: string): number {
  const [, sign, special] = /^([+-]?)(inf|nan)$/i.exec(text) ?? []
  if (special === undefined) return Number(text)
  if (special.toLowerCase() === 'nan') return Number.NaN
  return sign === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

function parseLabels(inner: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  for (let at = 0; at < inner.length; at = LABEL.lastIndex) {
    const [, name, value] = LABEL.exec(inner) ?? []
    if (name === undefined || value === undefined || name in labels) throw new Error(`bad labels: ${line}`)
    labels[name] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
  }
  return labels
}

function keyOf({ name, labels }: Sample): string {
  const sorted = Object.keys(labels).toSorted()
  return JSON.stringify([name, sorted.map((label) => [label, labels[label]])])
}

function withoutBound(labels: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([label]) => label !== 'le'))
}

function expectToAddUp(name: string, { type, samples }: MetricFamily): void {
  if (type === '') throw new Error(`${name} has no type`)
  if (type === 'counter' && samples.some(({ value }) => !(value >= 0))) throw new Error(`${name} is below 0`)
  if (type !== 'histogram') return
  const counts = new Map(
    samples.filter((sample) => sample.name === `${name}_count`).map((sample) => [keyOf(sample), sample.value]),
  )
  const buckets = Map.groupBy(
    samples.filter((sample) => sample.name === `${name}_bucket`),
    ({ labels }) => keyOf({ name: `${name}_count`, labels: withoutBound(labels), value: 0 }),
  )
  if (buckets.size !== counts.size) throw new Error(`${name} has buckets without a count, or counts without`)
  for (const [key, series] of buckets) {
    const bounds = series.map(({ labels }) => parseNumber(labels.le ?? ''))
    const values = series.map(({ value }) => value)
    const ascends = (numbers: number[]) => numbers.every((each, n) => n === 0 || each >= (numbers[n - 1] as number))
    if (!ascends(bounds) || bounds.at(-1) !== Number.POSITIVE_INFINITY) throw new Error(`${key}: bad bounds`)
    if (!ascends(values) || values.at(-1) !== counts.get(key)) throw new Error(`${key}: bad buckets`)
  }
}
