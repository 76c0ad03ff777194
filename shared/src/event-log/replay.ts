import type { LogRecord } from '../plant/plant-created.ts'
import { after, type LogPosition, type Offset, type Partition } from '../plant/position.ts'
import { type Checkpoint, checkpointAt } from '../protocol/checkpoint.ts'
import { repeat } from '../runtime/retry.ts'
import { abortable, delay, type Time } from '../runtime/time.ts'
import { createFollower, type FollowOptions } from './follow.ts'
import { createThrowawayGroups, groupPrefix } from './groups.ts'
import { UndecodableError } from './undecodable.ts'

/** The range of a partition to read: from after a checkpoint to before `end`. */
export type Range = { from: Checkpoint; end: Offset }

export type ReplayOptions<R extends LogRecord> = Pick<
  FollowOptions<R>,
  'kafka' | 'topic' | 'partitions' | 'log' | 'time' | 'read' | 'ends' | 'remedy'
> & {
  ranges: ReadonlyMap<Partition, Range>
  /** Receives each record of a partition once, in order; partitions alternate. `reached` is the checkpoint after them. */
  onRecords(partition: Partition, records: R[], reached: Checkpoint): Promise<void> | void
  /** Aborts the replay, which then rejects with the signal's reason. */
  signal?: AbortSignal
  /** Gets new records at once, waits for them without limit, and calls `onRecords` again when it rejects. */
  follows?: boolean
  /** Ends without the partitions that have no leader, also if they lose it meanwhile; without it, waits for them. */
  leavesOutLeaderless?: boolean
}

/**
 * Kafka answers with a full fetch, or with what there is after the wait. The size of a fetch fits the CPU caches and
 * the young generation of the heap: larger fetches are not faster, and their garbage is promoted.
 */
export const REPLAY_FETCHES = {
  // At most the limit of one partition: with a single partition left, each fetch would wait until its timeout.
  minBytes: 524_288,
  maxBytes: 2 * 1_048_576,
  maxBytesPerPartition: 524_288,
  maxWaitTimeInMs: 100,
}
/** A single new record is delivered at once. */
const FOLLOWING = { maxWaitTimeInMs: 100 }
/** Without progress for this time, a reading of the log gives up. */
export const NO_PROGRESS_MS = 60_000
const WATCH_EVERY_MS = 1_000
const CHECK_LEADERS_EVERY_MS = 2_000

/**
 * Calls `onStuck` once when it was not busy and `onAlive` was not called for a minute; the signal ends the watch. Not by
 * the clock: Ctrl-Z may stop the process for longer.
 */
export function startWatchdog(time: Time, signal: AbortSignal, onStuck: () => void, isBusy = () => false) {
  let watchedMs = 0

  function onAlive(): void {
    watchedMs = 0
  }

  async function watch(): Promise<void> {
    while (!signal.aborted) {
      await delay(time, WATCH_EVERY_MS, signal)
      watchedMs = isBusy() ? 0 : watchedMs + WATCH_EVERY_MS
      if (!signal.aborted && watchedMs >= NO_PROGRESS_MS) return onStuck()
    }
  }

  void watch()
  return { onAlive }
}

/**
 * Reads ranges of the log and ends. Rejects when it makes no progress for a minute (Kafka is not reachable, an open
 * transaction hides the records after it, or Kafka returns none because the length of a batch on its disk is damaged),
 * with a PreconditionError when the topic is not as required, `from` is a checkpoint of another log, a batch cannot be
 * decoded or Kafka refuses the user, and with the error that `onRecords` threw. If it follows, it waits for a batch that
 * cannot be decoded.
 */
export async function replay<R extends LogRecord>(options: ReplayOptions<R>): Promise<void> {
  const { kafka, topic, ranges, onRecords, log, time, signal, follows = false, leavesOutLeaderless = false } = options
  const remaining = new Map([...ranges].filter(([, { from, end }]) => after(from.offset) < end))
  if (remaining.size === 0) return
  const checkpoints = new Map([...remaining].map(([partition, { from }]) => [partition, from]))
  const groups = createThrowawayGroups(kafka, groupPrefix(topic, 'replay'), log)
  const ended = Promise.withResolvers<void>()
  const watching = new AbortController()
  let callsInFlight = 0
  // A slow caller is no lack of progress: an operator may read a printed listing page by page.
  const isBusy = () => follows || callsInFlight > 0
  const { onAlive } = startWatchdog(time, watching.signal, () => ended.reject(stuck()), isBusy)

  function onUndecodable(position: LogPosition): void {
    if (remaining.has(position.partition)) ended.reject(new UndecodableError(position))
  }

  const follower = createFollower({
    ...options,
    only: new Set(remaining.keys()),
    groupId: groups.groupId,
    haltsWhenRefused: true,
    ...(follows ? { fetchLimits: FOLLOWING } : { fetchLimits: REPLAY_FETCHES, onUndecodable }),
    checkpointOf: async (partition) => checkpoints.get(partition) as Checkpoint,
    onHalt: ended.reject,
    onEnds(ends) {
      if (!leavesOutLeaderless) return
      for (const partition of remaining.keys()) if (ends[partition] === undefined) finish(partition)
    },
    async onRecords(partition, records, next, from) {
      const range = remaining.get(partition)
      if (range === undefined) return next
      const known = checkpoints.get(partition) as Checkpoint
      // The group was joined again during the last call: its records come once more.
      if (from.offset < known.offset) return known
      onAlive()
      const isLast = after(next.offset) >= range.end
      const wanted = isLast ? records.filter(({ offset }) => offset < range.end) : records
      const reached = isLast ? checkpointAt((range.end - 1) as Offset, wanted) : next
      callsInFlight++
      try {
        await onRecords(partition, wanted, reached)
      } catch (error) {
        if (follows) throw error
        ended.reject(error)
        return next
      } finally {
        callsInFlight--
      }
      checkpoints.set(partition, next)
      onAlive()
      if (isLast) finish(partition)
      return next
    },
  })

  function finish(partition: Partition): void {
    remaining.delete(partition)
    if (remaining.size === 0) ended.resolve()
  }

  const common = { time, log, onHalt: ended.reject }
  const leaders = leavesOutLeaderless
    ? repeat({ ...common, everyMs: CHECK_LEADERS_EVERY_MS, task: follower.ends, what: 'checking the leaders' })
    : undefined
  try {
    signal?.throwIfAborted()
    follower.start()
    await abortable(ended.promise, signal)
  } finally {
    watching.abort()
    await Promise.all([follower.close(), leaders?.close()])
    await groups.deleteAll()
  }

  function stuck(): Error {
    const positions = [...remaining.keys()].map(
      (partition) => `partition ${partition} after offset ${checkpoints.get(partition)?.offset}`,
    )
    return new Error(
      `the replay made no progress for ${NO_PROGRESS_MS / 1_000} s (${positions.join(', ')}): Kafka is not ` +
        'reachable, an open transaction hides the records after it, or it cannot find them because they are damaged',
    )
  }
}
