import type { FetchedRecord } from '@plant-store/shared/event-log/follow.ts'
import { type Range, replay } from '@plant-store/shared/event-log/replay.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, readRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { checkpointBefore } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { OutputError } from '../../cli-context.ts'
import type { Store } from '../../store/open-store.ts'
import { keyOf } from '../../store/read-log.ts'
import { type ClaimRuling, type Rulings, rulingsByReadModel, rulingsOfOneId } from './rulings.ts'
import type { OffsetRange } from './selection.ts'

/** A record of the log: decoded, and as it is stored. */
export type LogEvent = LogRecord & { partition: Partition; stored: FetchedRecord }

/** The ruling is undefined for a record that claims no id. */
export type RuledEvent = { event: LogEvent; ruling: ClaimRuling | undefined }

const ENDLESS = Number.POSITIVE_INFINITY as Offset

export type Selected = {
  ranges: ReadonlyMap<Partition, OffsetRange>
  id?: PlantId | undefined
  onEvents(events: RuledEvent[]): Promise<void>
  /** Ends the reading, which then resolves. */
  signal: AbortSignal
}

/**
 * Reads the selected records of the log, each with its ruling, in log order within a partition. Resolves at their end, or
 * if a range has no end, when the signal is aborted.
 */
export async function readRuledEvents(store: Store, { ranges, id, onEvents, signal }: Selected): Promise<void> {
  if (signal.aborted) return
  const { kafka, topic, partitions, log, readModel } = store
  const key = id === undefined ? undefined : keyOf(id)
  const rulings = new Map<Partition, Rulings>()
  const read = new Map<Partition, Range>()
  for (const [partition, { from, end = ENDLESS }] of ranges) {
    const checkpointOf = async () => (await readModel.meta(partition)).checkpoint.offset
    const ofPartition =
      id === undefined ? rulingsByReadModel(readModel, partition, await checkpointOf()) : rulingsOfOneId(id)
    rulings.set(partition, ofPartition)
    read.set(partition, { from: checkpointBefore(ofPartition.startFor(from)), end })
  }
  const closing = new AbortController()
  await replay({
    ...{ kafka, topic, partitions, log, time: systemTime, ranges: read },
    follows: read.values().some(({ end }) => end === ENDLESS),
    signal: AbortSignal.any([signal, closing.signal]),
    read: (stored, partition): LogEvent => ({ ...readRecord(stored, partition, partitions), partition, stored }),
    onRecords: (partition, events) =>
      onRead(partition, events).catch((error: unknown) => {
        // Any other error may pass.
        if (!(error instanceof OutputError)) throw error
        closing.abort(error)
      }),
  }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })

  async function onRead(partition: Partition, events: readonly LogEvent[]): Promise<void> {
    const { add, rule } = rulings.get(partition) as Rulings
    for (const { claim } of events) if (claim !== undefined) add(claim)
    const { from, end = ENDLESS } = ranges.get(partition) as OffsetRange
    const selected = events.filter(
      ({ offset, stored }) => offset >= from && offset < end && (key === undefined || stored.key?.equals(key) === true),
    )
    const ruled = await rule(selected.flatMap(({ claim }) => claim ?? []))
    await onEvents(selected.map((event) => ({ event, ruling: event.claim === undefined ? undefined : ruled.shift() })))
  }
}
