import { ratioOf, type Spread } from '../measure/spread.ts'
import type { Cost, Filled, Rebuilt, Visit } from './grown-store.ts'

/** All that one run measured, as docs/bench/growth.json has it. Visits are in the order of their rounds. */
export type Results = {
  measuredAt: string
  machine: string
  versions: string
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

/** How much more a request costs than with the fewest plants, each round for itself. */
export function growthOf({ sizes }: Pick<Results, 'sizes'>, { visits }: Size, kind: Kind): Spread {
  const costs = (of: readonly Visit[]) => of.map((visit) => cpuOf(visit[kind]))
  return ratioOf(costs(visits), costs(sizes[0]?.visits ?? []))
}
