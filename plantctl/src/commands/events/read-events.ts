import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { createThrowawayGroups, groupPrefix } from '@plant-store/shared/event-log/groups.ts'
import { replay } from '@plant-store/shared/event-log/replay.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { ClosedPipe } from '../../cli-context.ts'
import type { Store } from '../../store/open-store.ts'
import { eventReader, type LogEvent } from './log-event.ts'

export type Reading = {
  /** From where on each partition is read, and up to before where; undefined: it goes on with the log. */
  ranges: ReadonlyMap<Partition, { from: Offset; end: Offset | undefined }>
  onEvents(partition: Partition, events: LogEvent[]): Promise<void>
  /** Ends the reading, which then resolves. */
  signal: AbortSignal
}

/** A single new event is shown at once. */
const FOLLOWING = { minBytes: 1, maxWaitMs: 100 }

/** Reads ranges of the log, each in log order, and ends; or goes on until the signal, when one of them has no end. */
export async function readEvents(store: Store, { ranges, onEvents, signal }: Reading): Promise<void> {
  const { kafka, topic, partitions, log } = store
  const common = { kafka, topic, partitions, log, time: systemTime, read: eventReader(partitions) }
  if (signal.aborted) return
  if ([...ranges.values()].some(({ end }) => end === undefined)) return follow()
  const bounded = [...ranges].map(
    ([partition, { from, end }]) => [partition, { from: before(from), end: end as Offset }] as const,
  )
  await replay({ ...common, ranges: new Map(bounded), onRecords: onEvents, signal }).catch(
    (error: unknown) => {
      if (!signal.aborted) throw error
    },
  )

  async function follow(): Promise<void> {
    const { groupId, deleteAll } = createThrowawayGroups(kafka, groupPrefix(topic, 'replay'), log)
    const ended = Promise.withResolvers<void>()
    const reached = new Map([...ranges].map(([partition, { from }]) => [partition, before(from)]))
    const follower = createFollower({
      ...{ ...common, ...FOLLOWING, groupId },
      only: new Set(ranges.keys()),
      checkpointOf: async (partition) => reached.get(partition) as Checkpoint,
      async onRecords(partition, events, next) {
        try {
          if (!signal.aborted) await onEvents(partition, events)
        } catch (error) {
          // Whatever else it is may be better the next time.
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

/** The log proves nothing about a place that nobody has been at. */
const before = (from: Offset): Checkpoint => ({ offset: (from - 1) as Offset, eventId: '' })
