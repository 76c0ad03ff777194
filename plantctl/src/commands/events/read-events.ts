import type { FetchedRecord } from '@plant-store/shared/event-log/follow.ts'
import { replay } from '@plant-store/shared/event-log/replay.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, readRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { checkpointBefore } from '@plant-store/shared/protocol/checkpoint.ts'
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

const ENDLESS = Number.POSITIVE_INFINITY as Offset

export type Selected = {
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
    const { from, end = ENDLESS } = ranges.get(partition) as OffsetRange
    const selected = read.filter(
      ({ offset, stored }) => offset >= from && offset < end && (key === undefined || stored.key?.equals(key) === true),
    )
    const ruled = await rule(selected.flatMap(({ claim }) => claim ?? []))
    await onEvents(selected.map((event) => ({ event, ruling: event.claim === undefined ? undefined : ruled.shift() })))
  })
}

/**
 * Reads ranges of the log, each in log order. Resolves at their end, or if one has no end, when the signal is aborted.
 */
async function readEvents(
  { kafka, topic, partitions, log }: Store,
  ranges: Ranges,
  signal: AbortSignal,
  onEvents: (partition: Partition, events: LogEvent[]) => Promise<void>,
): Promise<void> {
  if (signal.aborted) return
  const closing = new AbortController()
  const bounded = [...ranges].map(
    ([partition, { from, end = ENDLESS }]) => [partition, { from: checkpointBefore(from), end }] as const,
  )
  await replay({
    ...{ kafka, topic, partitions, log, time: systemTime, ranges: new Map(bounded) },
    follows: bounded.some(([, { end }]) => end === ENDLESS),
    signal: AbortSignal.any([signal, closing.signal]),
    read: (stored, partition): LogEvent => ({ ...readRecord(stored, partition, partitions), partition, stored }),
    onRecords: (partition, events) =>
      onEvents(partition, events).catch((error: unknown) => {
        // Any other error may pass.
        if (!(error instanceof ClosedPipe)) throw error
        closing.abort(error)
      }),
  }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}
