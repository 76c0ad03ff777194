/**
 * The order of a round, the first being round 0: each begins one further on, so that over as many rounds as there are
 * rows each has every place once, and what a place does to it (what ran before, a machine that warms up) meets all
 * alike.
 */
export function orderOf<Row>(rows: readonly Row[], round: number): Row[] {
  const first = round % Math.max(1, rows.length)
  return [...rows.slice(first), ...rows.slice(0, first)]
}
