/** The step between the lines of an axis up to `max`: 1, 2 or 5 times a power of ten, for at most `lines` steps. */
export function stepFor(max: number, lines: number): number {
  const least = max / lines
  const power = 10 ** Math.floor(Math.log10(least))
  return ([1, 2, 5, 10].find((times) => times * power >= least) as number) * power
}

/** Lines of an axis from 0 to at least the largest value. */
export function linesTo(max: number, lines: number): number[] {
  const step = stepFor(max, lines)
  const count = Math.ceil(max / step)
  return Array.from({ length: count + 1 }, (_, n) => n * step)
}

/** Powers of ten around all values, which are above 0. */
export function powersAround(values: readonly number[]): number[] {
  const first = Math.floor(Math.log10(Math.min(...values)))
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))))
  return Array.from({ length: last - first + 1 }, (_, n) => 10 ** (first + n))
}
