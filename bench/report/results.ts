import type { Circumstances } from '../environment.ts'
import type { ReaderName } from '../replay/readers.ts'
import type { CreatesRun } from '../side-by-side/creates.ts'
import type { HalfLoadRun } from '../side-by-side/half-load.ts'

/** The results of one run, as stored in docs/bench/results.json. Runs are in the order of their rounds. */
export type Results = Circumstances & {
  connections: number
  /** The extent of the run: the figures of a short one are less reliable. */
  effort: { rounds: number; seconds: number }
  creates: CreatesRow[]
  halfLoad: HalfLoadRow[]
  projections: Projections | undefined
}

export type CreatesRow = { row: string; name: string; promise: string; runs: CreatesRun[] }
export type HalfLoadRow = { row: string; name: string; runs: HalfLoadRun[] }

export type Projections = {
  events: number
  partitions: number
  readers: Projected[]
}

export type Projected = {
  reader: ReaderName
  runs: { eventsPerSecond: number; cpuMicros: number; redisMicros: number; redisBytesPerEvent: number }[]
}

/** µs of CPU per create of all processes of a run, without the load. */
export function cpuOf({ cpuMicros }: Pick<CreatesRun, 'cpuMicros'>): number {
  return Object.values(cpuMicros).reduce((sum, micros) => sum + micros, 0)
}
