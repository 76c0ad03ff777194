import type { LogRecord } from '../plant/plant-created.ts'
import { after, type Offset, type Partition } from '../plant/position.ts'
import { type Checkpoint, checkpointAt } from '../protocol/checkpoint.ts'
import { delay } from '../runtime/time.ts'
import { createFollower, type FollowOptions } from './follow.ts'
import { groupPrefix } from './groups.ts'
import { createThrowawayGroups } from './throwaway-groups.ts'

/** What to read of a partition: what comes after a checkpoint, up to before `end`. */
export type Range = { from: Checkpoint; end: Offset }

export type ReplayOptions<R extends LogRecord> = Pick<
  FollowOptions<R>,
  'kafka' | 'topic' | 'partitions' | 'log' | 'time' | 'read' | 'ends' | 'remedy'
> & {
  ranges: ReadonlyMap<Partition, Range>
  /** Takes in records in the order of their partition; partitions take turns. `reached` is how far it has come then. */
  onRecords(partition: Partition, records: R[], reached: Checkpoint): Promise<void> | void
  /** Breaks the replay off: it then rejects with the signal's reason. */
  signal?: AbortSignal
}

/**
 * Kafka answers with a full fetch, or with what there is after the wait. A fetch in all is no larger than what the
 * caches and the young part of the heap bear: from more records at once nothing is gained but garbage that was promoted.
 */
export const FETCHING = {
  // Not more than comes of one partition: where that is the only one, each fetch would wait its time out.
  minBytes: 524_288,
  maxBytes: 2 * 1_048_576,
  maxBytesPerPartition: 524_288,
  maxWaitMs: 100,
}
const NO_PROGRESS_MS = 60_000
const WATCH_EVERY_MS = 1_000

/**
 * Reads ranges of the log and ends. Rejects when it gets no further for a minute (Kafka is away, or a
 * transaction that somebody left open hides what comes after it), with a PreconditionError when the topic is not
 * as it must be or `from` is a checkpoint of another log, and with what `onRecords` threw.
 */
export async function replay<R extends LogRecord>(options: ReplayOptions<R>): Promise<void> {
  const { kafka, topic, ranges, onRecords, time, signal } = options
  const left = new Map([...ranges].filter(([, { from, end }]) => after(from.offset) < end))
  if (left.size === 0) return
  const stood = new Map([...left].map(([partition, { from }]) => [partition, from]))
  const groups = createThrowawayGroups(kafka, groupPrefix(topic, 'replay'), options.log)
  const ended = Promise.withResolvers<void>()
  let progressAt = time.now()
  /** Calls of `onRecords` under way. */
  let taking = 0

  const follower = createFollower({
    ...options,
    only: new Set(left.keys()),
    groupId: groups.groupId,
    ...FETCHING,
    checkpointOf: async (partition) => stood.get(partition) as Checkpoint,
    onHalt: ended.reject,
    async onRecords(partition, records, next) {
      const range = left.get(partition)
      if (range === undefined) return next
      progressAt = time.now()
      const isLast = after(next.offset) >= range.end
      const wanted = isLast ? records.filter(({ offset }) => offset < range.end) : records
      const reached = isLast ? checkpointAt((range.end - 1) as Offset, wanted) : next
      taking++
      try {
        await onRecords(partition, wanted, reached)
      } catch (error) {
        ended.reject(error)
        return next
      } finally {
        taking--
      }
      stood.set(partition, next)
      progressAt = time.now()
      if (isLast) left.delete(partition)
      if (left.size === 0) ended.resolve()
      return next
    },
  })
  const abort = () => ended.reject(signal?.reason)
  signal?.addEventListener('abort', abort)
  const watching = new AbortController()
  try {
    signal?.throwIfAborted()
    follower.start()
    void watch(watching.signal)
    await ended.promise
  } finally {
    watching.abort()
    signal?.removeEventListener('abort', abort)
    await follower.close()
    await groups.forget()
  }

  async function watch(ending: AbortSignal): Promise<void> {
    while (!ending.aborted) {
      await delay(time, WATCH_EVERY_MS, ending)
      // What waits is then not the log: somebody reads slowly what is printed.
      if (taking > 0) progressAt = time.now()
      if (time.now() - progressAt < NO_PROGRESS_MS) continue
      const where = [...left.keys()].map((partition) => `${partition} after ${stood.get(partition)?.offset}`)
      ended.reject(
        new Error(
          `the log was not read on for ${NO_PROGRESS_MS / 1_000} s (partition ${where.join(', ')}): Kafka is ` +
            'away, or a transaction that somebody left open hides what comes after it',
        ),
      )
    }
  }
}
