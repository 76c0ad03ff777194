import { describe, Failure } from '../local/processes/failure.mjs'
import type { Figures, Measured } from './measure/spread.ts'
import { digits } from './report/table.ts'

/** Something to measure once in each round. It may have several rows. */
export type Case = { name: string; measure(round: number): Promise<Record<string, Figures>> }

const FIGURES_SHOWN = 3

/**
 * The order of a round, the first being round 0. Each begins one further on, so that over as many rounds as there are
 * rows each has every place once, and the effects of a place (the row before, a machine that warms up) affect all rows
 * alike.
 */
export function orderOf<Row>(rows: readonly Row[], round: number): Row[] {
  const first = round % Math.max(1, rows.length)
  return [...rows.slice(first), ...rows.slice(0, first)]
}

/** Measures all cases in each round, so that other work of the machine affects them alike. */
export async function inRounds(cases: readonly Case[], rounds: number): Promise<Measured> {
  const measured: Record<string, Figures[]> = {}
  for (let round = 0; round < rounds; round++) {
    for (const { name, measure } of orderOf(cases, round)) {
      const rows = await named(name, () => measure(round))
      for (const [row, figures] of Object.entries(rows)) {
        measured[row] = [...(measured[row] ?? []), figures]
        const shown = Object.entries(figures).slice(0, FIGURES_SHOWN)
        const text = shown.map(([figure, value]) => `${figure} ${digits(value)}`).join(', ')
        console.log(`  round ${round + 1} of ${rounds}, ${row}: ${text}`)
      }
    }
  }
  return measured
}

async function named<T>(name: string, measure: () => Promise<T>): Promise<T> {
  try {
    return await measure()
  } catch (error) {
    throw new Failure(`${name}: ${describe(error)}`, { cause: error })
  }
}
