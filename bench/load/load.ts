import type { ReadModelSettings } from '@plant-store/shared/read-model/read-model.ts'
import type { Processes } from '../measure/cpu.ts'
import type { Figures } from '../measure/spread.ts'
import { inOwnProcess } from '../own-process.ts'

/** The most connections at a time, over all apis, and the times before and of the measurement. */
export type Load = { connections: number; warmUpMs: number; measuredMs: number }

export type LoadOrder = Load & {
  /** The apis; requests and connections are spread over them evenly. */
  urls: readonly string[]
  /** The processes whose CPU is measured. */
  processes: Processes
  /** Ids of existing plants: each request reads one of them, chosen at random, instead of creating a plant. */
  readIds?: BigInt64Array
  /** Open loop. Without it, each connection sends its next request when it has a response. */
  arrivals?: { perSecond: number; seed: number }
  /** The rate is meant to be too high: responses 503 are expected, and requests that wait at the end are dropped. */
  isOverload?: boolean
  /** The read model whose lag is measured meanwhile. */
  lagOf?: ReadModelSettings | undefined
}

export type MeasuredLoad = {
  /** Times in ms; CPU in µs for each request, also of each kind of process. */
  figures: Figures
  /** Ids of creates with a response 200, also before and after the measured time. */
  acknowledged: BigUint64Array
  /** The number of each other response or error, at any time, by its description. */
  unexpected: ReadonlyMap<string, number>
}

/** The figure for responses 200 a second. */
export const RATE = 'a second'

/** The time that a load has to start, to get the last responses, and to end. */
const MORE_MS = 60_000
const GENERATOR = new URL('generator.ts', import.meta.url)

export const runLoad = (order: LoadOrder): Promise<MeasuredLoad> =>
  inOwnProcess<MeasuredLoad>(GENERATOR, order, order.warmUpMs + order.measuredMs + MORE_MS)
