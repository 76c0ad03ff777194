const GROUPED = new Intl.NumberFormat('en')
const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB']
const LISTED_MAX = 8

/** `1,234,567` */
export const grouped = (count: number): string => GROUPED.format(count)

/** `1 plant`, `2 plants` */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`
}

/** `812 bytes`, `4.6 MB`: units of 1,000. */
export function sized(bytes: number): string {
  const unit = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1)
  const size = bytes / 1_000 ** unit
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit]}`
}

/** `partition 3`, `partitions 0-5, 8`; only the first of very many. */
export function partitionsNamed(partitions: readonly number[]): string {
  const spans = spansOf(partitions)
  const shown = spans
    .slice(0, LISTED_MAX)
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`))
  const more = spans.length > LISTED_MAX ? ', …' : ''
  return `${partitions.length === 1 ? 'partition' : 'partitions'} ${shown.join(', ')}${more}`
}

function spansOf(partitions: readonly number[]): [first: number, last: number][] {
  const spans: [number, number][] = []
  for (const partition of [...partitions].sort((a, b) => a - b)) {
    const span = spans.at(-1)
    if (span !== undefined && partition === span[1] + 1) span[1] = partition
    else spans.push([partition, partition])
  }
  return spans
}
