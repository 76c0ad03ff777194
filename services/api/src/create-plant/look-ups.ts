import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { messageOf } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { delay, type Time, within } from '@plant-store/shared/runtime/time.ts'
import { type EachLookUp, type Found, type LookUp, lookUpTogether } from '../claim-index/look-up-together.ts'
import type { Deadline } from './deadline.ts'

/**
 * Time between the starts of two round trips, unless a look-up was alone: the next one waits for the end of an append,
 * within these limits. Creates that are looked up together are appended together; fuller batches cost less CPU.
 */
const [MIN_INTERVAL_MS, MAX_INTERVAL_MS] = [4, 12]
const RETRY_MS = 50

type Waiting = LookUp & { deadline: Deadline; since: number; isFound: boolean }

/** Look-ups that share round trips, one at a time. */
type Queue = {
  /** Oldest first, with those in flight. */
  waiting: Waiting[]
  isRunning: boolean
  failure?: unknown
}

const isOpen = ({ isFound, deadline }: Waiting) => !isFound && !deadline.isOver

export type LookUpOptions = {
  time: Time
  log: Log
  maxBatchIds: number
  /** Resolves when an append ends; at once while none is in flight. */
  appendEnded(): Promise<void>
  /** Up to `max` other look-ups, of such partitions, which share the round trip. They are not repeated here. */
  others(max: number, isWanted: (partition: Partition) => boolean): readonly LookUp[]
}

/**
 * Looks up ids in the read model, one round trip at a time for all that arrived during the one before. It is repeated
 * until the read model responds, as it does soon after a failover, or all deadlines have passed. A partition whose last
 * look-up failed has separate round trips: it delays no other.
 */
export function createLookUps(readModel: EachLookUp, { time, log, maxBatchIds, appendEnded, others }: LookUpOptions) {
  const healthy: Queue = { waiting: [], isRunning: false }
  const suspects = new Map<Partition, Queue>()

  function add(each: Waiting): void {
    const queue = suspects.get(each.partition) ?? healthy
    queue.waiting.push(each)
    start(queue)
  }

  function start(queue: Queue): void {
    if (queue.isRunning) return
    queue.isRunning = true
    void run(queue)
  }

  async function run(queue: Queue): Promise<void> {
    // A microtask later, so that look-ups which arrive together share a round trip.
    await Promise.resolve()
    while (dropClosed(queue)) {
      if (queue !== healthy) await delay(time, RETRY_MS)
      const startedAt = time.now()
      const batch = queue.waiting.slice(0, maxBatchIds)
      await lookUpTogether(readModel, queue === healthy ? [...batch, ...more(maxBatchIds - batch.length)] : batch)
      dropClosed(queue)
      if (queue === healthy && batch.length > 1) await pause(startedAt)
    }
    queue.isRunning = false
  }

  /** Returns whether some are left. */
  function dropClosed(queue: Queue): boolean {
    queue.waiting = queue.waiting.filter(isOpen)
    return queue.waiting.length > 0
  }

  function more(max: number): LookUp[] {
    return others(max, (partition) => !suspects.has(partition)).map((each) => ({
      ...each,
      failed(error) {
        suspect(each.partition, error)
        each.failed(error)
      },
    }))
  }

  async function pause(startedAt: number): Promise<void> {
    await delay(time, startedAt + MIN_INTERVAL_MS - time.now())
    await within(startedAt + MAX_INTERVAL_MS - time.now(), appendEnded(), time)
  }

  function suspect(partition: Partition, error: unknown): void {
    const queue = suspects.get(partition) ?? addSuspect(partition, error)
    queue.failure = error
  }

  function addSuspect(partition: Partition, error: unknown): Queue {
    // One line for all attempts, and for all partitions that fail for the same reason.
    if (suspects.values().every(({ failure }) => messageOf(failure) !== messageOf(error)))
      log.warn({ err: error, partition }, 'the look-up in the read model failed; trying again')
    const queue: Queue = { waiting: healthy.waiting.filter((each) => each.partition === partition), isRunning: false }
    healthy.waiting = healthy.waiting.filter((each) => each.partition !== partition)
    suspects.set(partition, queue)
    start(queue)
    return queue
  }

  function recovered(partition: Partition): void {
    const queue = suspects.get(partition)
    suspects.delete(partition)
    for (const each of queue?.waiting.splice(0).filter(isOpen) ?? []) add(each)
  }

  return {
    /** Resolves with undefined when the deadline passes. */
    find(partition: Partition, id: PlantId, deadline: Deadline): Promise<Found | undefined> {
      const { promise, resolve } = deadline.withResolvers<Found>()
      const each: Waiting = {
        ...{ partition, id, deadline, since: time.now(), isFound: false },
        found(found) {
          each.isFound = true
          if (suspects.size > 0) recovered(partition)
          resolve(found)
        },
        failed: (error) => suspect(partition, error),
      }
      add(each)
      return promise
    },

    /** The time that the oldest look-up before a new one of the partition has waited, in ms; 0 without one. */
    waitedMs(partition: Partition): number {
      const oldest = (suspects.get(partition) ?? healthy).waiting.find(isOpen)
      return oldest === undefined ? 0 : time.now() - oldest.since
    },

    /** The error of the last look-up of the partition, if it failed. */
    failure: (partition: Partition) => suspects.get(partition)?.failure,
  }
}
