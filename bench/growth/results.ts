import type { Circumstances } from '../environment.ts'
import { ratioOf, type Spread } from '../measure/spread.ts'
import type { Cost, Filled, Rebuilt, Visit } from './grown-store.ts'

/** All that one run measured, as docs/bench/growth.json has it. Visits are in the order of their rounds. */
export type Results = Circumstances & {
  effort: { rounds: number; seconds: number; connections: number }
  sizes: Size[]
}

export type Size = { plants: number; filled: readonly Filled[]; visits: readonly Visit[]; rebuilt: Rebuilt }

export type Kind = 'creates' | 'reads'

/** From the smallest size to any other a cost may grow by so much. */
export const MAX_GROWTH = 1.1

/** µs of CPU of all processes that have a part in it. */
export function cpuOf({ cpuMicros }: Cost): number {
  return Object.values(cpuMicros).reduce((sum, micros) => sum + micros, 0)
}

/** What was measured of a size in each round. */
export type Measured = { plants: number; visits: readonly Pick<Visit, Kind>[] }

/** How much more a request costs than with fewer plants, each round for itself. */
export function growthOf(fewer: Measured, more: Measured, kind: Kind): Spread {
  const costs = ({ visits }: Measured) => visits.map((visit) => cpuOf(visit[kind]))
  return ratioOf(costs(more), costs(fewer))
}
