import { type Figures, type Measured, median, ratioOf, type Spread, spreadOf } from '../measure/spread.ts'

export type Table = { head: readonly string[]; rows: readonly (readonly string[])[] }

type Shape = {
  /** The figures that are shown with the lowest and the highest round. */
  spread?: readonly string[]
  /** The row with which a row is compared. */
  base?: (row: string) => string
  /** The figures that are compared, and the heads of these columns. */
  ratios?: Readonly<Record<string, string>>
}

/** A row for each measured row, a column for each figure that any row has: medians of the rounds. */
export function tableOf(
  head: string,
  measured: Measured,
  figures: readonly string[],
  { spread = [], base, ratios = {} }: Shape = {},
): Table {
  const rows = Object.keys(measured)
  const medianOf = (row: string, name: string) => {
    const values = valuesOf(measured[row], name)
    return values && (spread.includes(name) ? spreadText(spreadOf(values)) : digits(median(values)))
  }
  const ratioIn = (row: string, name: string) => {
    const ratio = name in ratios && base ? ratioOfRows(measured, name, row, base(row)) : undefined
    return ratio && `${digits(ratio.median)}×`
  }
  const columns = figures.flatMap((name) => [
    { title: name, cells: rows.map((row) => medianOf(row, name)) },
    { title: ratios[name] ?? '', cells: rows.map((row) => ratioIn(row, name)) },
  ])
  const shown = columns.filter(({ cells }) => cells.some((cell) => cell !== undefined))
  return {
    head: [head, ...shown.map(({ title }) => title)],
    rows: rows.map((row, n) => [row, ...shown.map(({ cells }) => cells[n] ?? '')]),
  }
}

/** The ratio of a figure in two rows, round by round; undefined when a round has not measured it. */
export function ratioOfRows(measured: Measured, figure: string, row: string, base: string): Spread | undefined {
  const [values, bases] = [valuesOf(measured[row], figure), valuesOf(measured[base], figure)]
  return values && bases && ratioOf(values, bases)
}

/** A figure in each round; undefined when a round has not measured it. */
export function valuesOf(runs: readonly Figures[] | undefined, name: string): number[] | undefined {
  const values = runs?.map((figures) => figures[name] ?? Number.NaN) ?? []
  return values.length === 0 || values.some(Number.isNaN) ? undefined : values
}

/** The rows with such names. */
export const rowsWhere = (measured: Measured, isWanted: (row: string) => boolean): Measured =>
  Object.fromEntries(Object.entries(measured).filter(([row]) => isWanted(row)))

/** A number for a person: three digits, or as many as are before the point. */
export function digits(value: number): string {
  const decimals = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
}

/** The median, with the lowest and the highest of several rounds. */
export function spreadText({ median, min, max, rounds }: Spread): string {
  return rounds === 1 ? digits(median) : `${digits(median)} (${digits(min)}–${digits(max)})`
}

/** As Markdown, with cells of equal width for a terminal. Columns of figures are aligned to the right. */
export function textOf({ head, rows }: Table): string {
  const columns = head.map((title, n) => {
    const cells = [title, ...rows.map((row) => row[n] ?? '')].map((cell) => cell.replaceAll('|', '\\|'))
    const width = Math.max(...cells.map(({ length }) => length), 3)
    const isRight = n > 0 && cells.slice(1).every((cell) => /^(-?\d|$)/.test(cell))
    const rule = isRight ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)
    return cells.toSpliced(1, 0, rule).map((cell) => (isRight ? cell.padStart(width) : cell.padEnd(width)))
  })
  const lines = ['', '', ...rows].map((_, n) => `| ${columns.map((cells) => cells[n]).join(' | ')} |`)
  return lines.join('\n')
}

export type Target = readonly [number: number, what: string, target: string, measured: string, verdict: string]

/** A target with its measurement in each round: the median decides. None when it was not measured. */
export function target(
  number: number,
  what: string,
  measured: readonly number[] | Spread | undefined,
  bound: { atLeast: number } | { atMost: number },
  unit: '×' | 'µs' | 'ms' | 'MB',
): Target[] {
  if (measured === undefined) return []
  const spread = 'median' in measured ? measured : spreadOf(measured)
  const [sign, limit] = 'atLeast' in bound ? ['≥', bound.atLeast] : ['≤', bound.atMost]
  const inUnit = (text: string) => `${text}${unit === '×' ? '' : ' '}${unit}`
  const isMet = sign === '≥' ? spread.median >= limit : spread.median <= limit
  const text = `${sign} ${inUnit(limit.toLocaleString('en'))}`
  return [[number, what, text, inUnit(spreadText(spread)), isMet ? 'met' : 'missed']]
}

/** The targets that this run has measured. */
export function targetsTable(targets: readonly Target[]): Table {
  const rows = targets.toSorted(([a], [b]) => a - b).map(([number, ...cells]) => [String(number), ...cells])
  return { head: ['', 'target', 'is', 'measured', ''], rows }
}
