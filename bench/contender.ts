import type { ReadModelSettings } from '@plant-store/shared/read-model/read-model.ts'
import type { BenchStores } from './stores.ts'

/** A service that takes creates, and what it promises: one row of the comparison. */
export type Contender = {
  /** The name in the table. */
  name: string
  /** What its acknowledgement guarantees, in a few words: where the plant is stored, and whether ids are unique. */
  promise: string
  /** Starts it. Resolves when it accepts creates. No other contender uses the stores while it runs. */
  start(stores: BenchStores): Promise<RunningContender>
}

export type RunningContender = {
  /** The base URL of `POST /plants`, and the token for it. */
  url: string
  token: string
  /**
   * The pids of the processes that take part in a create, by kind: api, broker, projector, Redis, PostgreSQL. The CPU
   * of their children counts, too.
   */
  processes: ReadonlyMap<string, number>
  /** Its read model, if it has one; the lag of the read model is measured. */
  readModel?: ReadModelSettings
  /**
   * The acknowledged ids that it has not stored, after the load has ended. Undefined for a contender without a store.
   */
  missing(acknowledged: Iterable<bigint>): Promise<bigint[] | undefined>
  stop(): Promise<void>
}
