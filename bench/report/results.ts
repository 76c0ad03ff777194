import type { Circumstances } from '../environment.ts'
import type { ReaderName } from '../replay/readers.ts'
import type { CreatesRun } from '../side-by-side/creates.ts'
import type { OpenLoadRun } from '../side-by-side/open-load.ts'

/** The results of one run, as stored in docs/bench/results.json. Runs are in the order of their rounds. */
export type Results = Circumstances & {
  connections: number
  /**
   * The extent of the run: the figures of a short one are less reliable. `leftOut` names the parts that did not run.
   */
  effort: { rounds: number; seconds: number; leftOut: readonly string[] }
  creates: CreatesRow[]
  openLoad: OpenLoadRow[]
  projections: Projections | undefined
}

export type CreatesRow = { row: string; name: string; promise: string; runs: CreatesRun[] }
export type OpenLoadRow = { row: string; name: string; runs: OpenLoadRun[] }

export type Projections = {
  events: number
  partitions: number
  readers: Projected[]
}

export type Projected = {
  reader: ReaderName
  runs: { eventsPerSecond: number; cpuMicros: number; redisMicros: number; redisBytesPerEvent: number }[]
}

/** µs of CPU per create of all processes beyond those of the same app without a store, by round. */
export function storeCosts(creates: readonly CreatesRow[], name: string): number[] | undefined {
  const runsOf = (wanted: string) => creates.find(({ row }) => row === wanted)?.runs
  const [runs, bare] = [runsOf(name), runsOf('no-store')]
  return bare && runs?.map((run, round) => cpuOf(run) - cpuOf(bare[round] as CreatesRun))
}

/** µs of CPU per create of all processes of a run, without the load. */
export function cpuOf({ cpuMicros }: Pick<CreatesRun, 'cpuMicros'>): number {
  return Object.values(cpuMicros).reduce((sum, micros) => sum + micros, 0)
}
