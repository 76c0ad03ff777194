import type { Spread } from '../measure/spread.ts'

/** A number for a person: three digits, or as many as are before the point. */
export function digits(value: number, unit = ''): string {
  const decimals = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return `${value.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })}${unit}`
}

/** The median, with how far the rounds were apart when there were several. */
export function spread({ median, min, max, rounds }: Spread): string {
  return rounds === 1 ? digits(median) : `${digits(median)} (${digits(min)}–${digits(max)})`
}
