import type { Circumstances } from '../environment.ts'
import { ratioOf, type Spread } from '../measure/spread.ts'
import type { Cost, Filled, Rebuilt, Visit } from './grown-store.ts'

/** The results of one run, as stored in docs/bench/growth.json. Visits are in the order of their rounds. */
export type Results = Circumstances & {
  effort: { rounds: number; seconds: number; connections: number }
  sizes: Size[]
}

export type Size = { plants: number; filled: readonly Filled[]; visits: readonly Visit[]; rebuilt: Rebuilt }

export type Kind = 'creates' | 'reads'

/** The target: a cost may grow by at most this factor from the smallest size to any other. */
export const MAX_GROWTH = 1.1

/** µs of CPU of a request, summed over all processes that take part. */
export function cpuOf({ cpuMicros }: Cost): number {
  return Object.values(cpuMicros).reduce((sum, micros) => sum + micros, 0)
}

/** The measurements of one size, one visit a round. */
export type Measured = { plants: number; visits: readonly Pick<Visit, Kind>[] }

/** The cost of a request with more plants relative to that with fewer, compared round by round. */
export function growthOf(fewer: Measured, more: Measured, kind: Kind): Spread {
  const costs = ({ visits }: Measured) => visits.map((visit) => cpuOf(visit[kind]))
  return ratioOf(costs(more), costs(fewer))
}
