import { describe, Failure } from '../local/processes/failure.mjs'
import type { Figures, Measured } from './measure/spread.ts'
import { digits } from './report/table.ts'

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

/**
 * Measures all cases in each round, so that other work of the machine affects them alike. A case may have several rows.
 */
export async function inRounds<Case extends { name: string }>(
  cases: readonly Case[],
  rounds: number,
  measure: (each: Case, round: number) => Promise<Record<string, Figures>>,
): Promise<Measured> {
  const measured: Record<string, Figures[]> = {}
  for (let round = 0; round < rounds; round++) {
    for (const each of orderOf(cases, round)) {
      const rows = await measure(each, round).catch((error: unknown) => {
        throw new Failure(`${each.name}: ${describe(error)}`, { cause: error })
      })
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
