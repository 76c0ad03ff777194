import { createFollower, type FetchedRecord } from '@plant-store/shared/event-log/follow.ts'
import { createThrowawayGroups, groupPrefix } from '@plant-store/shared/event-log/groups.ts'
import { replay } from '@plant-store/shared/event-log/replay.ts'
import { type LogRecord, readRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { type Checkpoint, checkpointBefore } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { ClosedPipe } from '../../cli-context.ts'
import type { Store } from '../../store/open-store.ts'

/** A record of the log: decoded, and as it is stored. */
export type LogEvent = LogRecord & { partition: Partition; stored: FetchedRecord }

export type Reading = {
  /** The first offset of each partition, and the offset before which it ends; undefined: it follows the log. */
  ranges: ReadonlyMap<Partition, { from: Offset; end: Offset | undefined }>
  onEvents(partition: Partition, events: LogEvent[]): Promise<void>
  /** Ends the reading, which then resolves. */
  signal: AbortSignal
}

/** A single new event is shown at once. */
const FOLLOWING = { minBytes: 1, maxWaitMs: 100 }

/**
 * Reads ranges of the log, each in log order. Resolves at their end, or if one has no end, when the signal is aborted.
 */
export async function readEvents(store: Store, { ranges, onEvents, signal }: Reading): Promise<void> {
  const { kafka, topic, partitions, log } = store
  const read = (stored: FetchedRecord, partition: Partition): LogEvent => ({
    ...readRecord(stored, partition, partitions),
    partition,
    stored,
  })
  const common = { kafka, topic, partitions, log, time: systemTime, read }
  if (signal.aborted) return
  if ([...ranges.values()].some(({ end }) => end === undefined)) return follow()
  const bounded = [...ranges].map(
    ([partition, { from, end }]) => [partition, { from: checkpointBefore(from), end: end as Offset }] as const,
  )
  await replay({ ...common, ranges: new Map(bounded), onRecords: onEvents, signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })

  async function follow(): Promise<void> {
    const { groupId, deleteAll } = createThrowawayGroups(kafka, groupPrefix(topic, 'replay'), log)
    const ended = Promise.withResolvers<void>()
    const reached = new Map([...ranges].map(([partition, { from }]) => [partition, checkpointBefore(from)]))
    const follower = createFollower({
      ...common,
      ...FOLLOWING,
      groupId,
      haltsWhenRefused: true,
      only: new Set(ranges.keys()),
      checkpointOf: async (partition) => reached.get(partition) as Checkpoint,
      async onRecords(partition, events, next) {
        try {
          if (!signal.aborted) await onEvents(partition, events)
        } catch (error) {
          // Any other error may pass: the follower retries.
          if (!(error instanceof ClosedPipe)) throw error
          ended.reject(error)
        }
        reached.set(partition, next)
        return next
      },
      onHalt: ended.reject,
    })
    signal.addEventListener('abort', () => ended.resolve(), { once: true })
    follower.start()
    try {
      await ended.promise
    } finally {
      await follower.close()
      await deleteAll()
    }
  }
}
