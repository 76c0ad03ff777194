const NUMBERS = new Intl.NumberFormat('en')
const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB']
const PARTITION_RANGES_MAX = 8

/** `1,234,567` */
export const formatNumber = (value: number): string => NUMBERS.format(value)

/** `1 plant`, `2 plants` */
export function formatCount(count: number, one: string): string {
  return `${formatNumber(count)} ${count === 1 ? one : `${one}s`}`
}

/** `812 bytes`, `4.6 MB`, in units of 1,000. */
export function formatBytes(bytes: number): string {
  const unit = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1)
  const size = bytes / 1_000 ** unit
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit]}`
}

/** `0.8 s`, `12 s`, `3 min 20 s`, `2 h 5 min` */
export function formatDuration(ms: number): string {
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** A record's timestamp in UTC. A producer may have written any number: one that is no time is printed as a number. */
export function formatTimestamp(timestampMs: number): string {
  const time = new Date(timestampMs)
  return Number.isNaN(time.getTime()) ? String(timestampMs) : time.toISOString()
}

/** `partition 3`, `partitions 0-5, 8`; at most the first 8 ranges. */
export function formatPartitions(partitions: readonly number[]): string {
  const ranges: [first: number, last: number][] = []
  for (const partition of partitions.toSorted((a, b) => a - b)) {
    const range = ranges.at(-1)
    if (range !== undefined && partition === range[1] + 1) range[1] = partition
    else ranges.push([partition, partition])
  }
  const shown = ranges
    .slice(0, PARTITION_RANGES_MAX)
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`))
  const more = ranges.length > PARTITION_RANGES_MAX ? ', …' : ''
  return `${partitions.length === 1 ? 'partition' : 'partitions'} ${shown.join(', ')}${more}`
}
