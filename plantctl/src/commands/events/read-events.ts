import { createFollower, type FetchedRecord } from '@plant-store/shared/event-log/follow.ts'
import { createThrowawayGroups, groupPrefix } from '@plant-store/shared/event-log/groups.ts'
import { replay } from '@plant-store/shared/event-log/replay.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, readRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { type Checkpoint, checkpointBefore } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { ClosedPipe } from '../../cli-context.ts'
import type { Store } from '../../store/open-store.ts'
import { keyOf } from '../../store/read-log.ts'
import { type ClaimRuling, type Rulings, rulingsByReadModel, rulingsOfOneId } from './rulings.ts'
import type { OffsetRange } from './selection.ts'

/** A record of the log: decoded, and as it is stored. */
export type LogEvent = LogRecord & { partition: Partition; stored: FetchedRecord }

/** The ruling is undefined for a record that claims no id. */
export type RuledEvent = { event: LogEvent; ruling: ClaimRuling | undefined }

type Ranges = ReadonlyMap<Partition, OffsetRange>

type Selected = {
  ranges: Ranges
  /** Only records with this id as key. */
  id?: PlantId | undefined
  onEvents(events: RuledEvent[]): Promise<void>
  /** Ends the reading, which then resolves. */
  signal: AbortSignal
}

/** Reads the selected records of the log, each with its ruling, in log order within a partition. */
export async function readRuledEvents(store: Store, { ranges, id, onEvents, signal }: Selected): Promise<void> {
  const { readModel } = store
  const key = id === undefined ? undefined : keyOf(id)
  const rulings = new Map<Partition, Rulings>()
  const starts = new Map<Partition, OffsetRange>()
  for (const [partition, { from, end }] of ranges) {
    const checkpointOf = async () => (await readModel.meta(partition)).checkpoint.offset
    const ofPartition =
      id === undefined ? rulingsByReadModel(readModel, partition, await checkpointOf()) : rulingsOfOneId(id)
    rulings.set(partition, ofPartition)
    starts.set(partition, { from: ofPartition.startFor(from), end })
  }
  await readEvents(store, starts, signal, async (partition, read) => {
    const { add, rule } = rulings.get(partition) as Rulings
    for (const { claim } of read) if (claim !== undefined) add(claim)
    const { from, end = Number.POSITIVE_INFINITY } = ranges.get(partition) as OffsetRange
    const selected = read.filter(
      ({ offset, stored }) => offset >= from && offset < end && (key === undefined || stored.key?.equals(key) === true),
    )
    const ruled = await rule(selected.flatMap(({ claim }) => claim ?? []))
    await onEvents(selected.map((event) => ({ event, ruling: event.claim === undefined ? undefined : ruled.shift() })))
  })
}

/** A single new event is shown at once. */
const FOLLOWING = { minBytes: 1, maxWaitMs: 100 }

/**
 * Reads ranges of the log, each in log order. Resolves at their end, or if one has no end, when the signal is aborted.
 */
async function readEvents(
  store: Store,
  ranges: Ranges,
  signal: AbortSignal,
  onEvents: (partition: Partition, events: LogEvent[]) => Promise<void>,
): Promise<void> {
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
