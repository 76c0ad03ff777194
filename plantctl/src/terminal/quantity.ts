const GROUPED = new Intl.NumberFormat('en')
const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB']

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
