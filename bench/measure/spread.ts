/** The amounts that one round measured of one row, by name. An amount that does not apply is left out. */
export type Figures = Record<string, number>
/** The rounds of each row, in order; rows by the names in the report. */
export type Measured = Record<string, readonly Figures[]>
export type Spread = { median: number; min: number; max: number; rounds: number }

/** Requires at least one value. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const [min, max] = [sorted.at(0), sorted.at(-1)]
  if (min === undefined || max === undefined) throw new Error('no values have no median')
  const [lower, upper] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]] as [number, number]
  return { median: (lower + upper) / 2, min, max, rounds: sorted.length }
}

export const median = (values: readonly number[]): number => spreadOf(values).median

/** By round, because other work of the machine in a round affects both alike. */
export function ratioOf(parts: readonly number[], wholes: readonly number[]): Spread {
  if (parts.length !== wholes.length) throw new Error(`${parts.length} rounds against ${wholes.length}`)
  return spreadOf(parts.map((part, round) => part / (wholes[round] as number)))
}
