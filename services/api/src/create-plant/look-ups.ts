import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { ReadModel } from '@plant-store/shared/read-model/read-model.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { delay, type Time } from '@plant-store/shared/runtime/time.ts'
import { type Found, type LookUp, lookUpTogether } from '../claim-index/look-up-together.ts'
import type { Deadline } from './deadline.ts'

/**
 * Time between the starts of two round trips, unless a look-up was alone: the next one waits for the end of an append,
 * within these limits. Creates that are looked up together are appended together; fuller batches cost less CPU.
 */
const [MIN_INTERVAL_MS, MAX_INTERVAL_MS] = [4, 12]
const RETRY_MS = 50

type Waiting = LookUp & { deadline: Deadline; since: number }

export type LookUpOptions = {
  time: Time
  log: Log
  maxBatchIds: number
  /** Resolves when an append ends; at once while none is in flight. */
  appendEnded(): Promise<void>
  /** Up to `max` other look-ups, which share the round trip. If it fails, they are not repeated here. */
  others(max: number): readonly LookUp[]
}

/**
 * Looks up ids in the read model, one round trip at a time for all that arrived during the one before. It is repeated
 * until the read model responds, as it does soon after a failover, or all deadlines have passed.
 */
export function createLookUps(
  readModel: Pick<ReadModel, 'lookUp'>,
  { time, log, maxBatchIds, appendEnded, others }: LookUpOptions,
) {
  let waiting: Waiting[] = []
  let isRunning = false
  let failure: unknown

  async function run(): Promise<void> {
    // A microtask later, so that look-ups which arrive together share a round trip.
    await Promise.resolve()
    while (waiting.length > 0) {
      const startedAt = time.now()
      const batch = waiting.splice(0, maxBatchIds)
      const left = await lookUp(batch)
      waiting = [...left, ...waiting].filter(({ deadline }) => !deadline.isOver)
      if (left.length > 0) await delay(time, RETRY_MS)
      else if (batch.length > 1) await pause(startedAt)
    }
    isRunning = false
  }

  async function pause(startedAt: number): Promise<void> {
    await delay(time, startedAt + MIN_INTERVAL_MS - time.now())
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = time.after(startedAt + MAX_INTERVAL_MS - time.now(), resolve)
    await Promise.race([appendEnded(), promise])
    cancel()
  }

  /** Returns the look-ups that failed. */
  async function lookUp(batch: readonly Waiting[]): Promise<readonly Waiting[]> {
    try {
      await lookUpTogether(readModel, [...batch, ...others(maxBatchIds - batch.length)])
      failure = undefined
      return []
    } catch (err) {
      // One line for all attempts.
      if (failure === undefined) log.warn({ err }, 'the look-up in the read model failed; trying again')
      failure = err
      return batch
    }
  }

  return {
    /** Resolves with undefined when the deadline passes. */
    find(partition: Partition, id: PlantId, deadline: Deadline): Promise<Found | undefined> {
      const { promise, resolve } = deadline.withResolvers<Found>()
      waiting.push({ partition, id, deadline, since: time.now(), resolve })
      if (!isRunning) {
        isRunning = true
        void run()
      }
      return promise
    },

    /** The time that the oldest look-up has waited, in milliseconds; 0 without one. */
    waitedMs(): number {
      const oldest = waiting.find(({ deadline }) => !deadline.isOver)
      return oldest === undefined ? 0 : time.now() - oldest.since
    },

    /** The error of the last round trip, if it failed. */
    failure: () => failure,
  }
}
