import type { ReadModelSettings } from '@plant-store/shared/read-model/read-model.ts'
import type { BenchStores } from './stores.ts'

/** What answers creates, and what it promises: one row of the comparison. */
export type Contender = {
  /** As the table names it. */
  name: string
  /** What an acknowledgement of it means, in a few words: where the plant is then, and what is known to be unique. */
  promise: string
  /** Brings it up; resolves when it takes creates. It is alone on the stores while it runs. */
  start(stores: BenchStores): Promise<RunningContender>
}

export type RunningContender = {
  /** Where `POST /plants` is, and the token for it. */
  url: string
  token: string
  /** The processes that work for a create, by what they are: api, broker, projector, Redis, PostgreSQL. Children of these count along. */
  processes: ReadonlyMap<string, number>
  /** What it folds its creates into, when it has such a thing: its lag is measured. */
  readModel?: ReadModelSettings
  /** Those of the acknowledged ids that it does not have; asked after the load has ended. A contender without a store keeps nothing, and says undefined. */
  missing(acknowledged: Iterable<bigint>): Promise<bigint[] | undefined>
  stop(): Promise<void>
}
