import type { EventId } from '../plant/event-id.ts'
import type { LogRecord } from '../plant/plant-created.ts'
import { after, BEFORE_FIRST, FIRST, type Offset } from '../plant/position.ts'

/**
 * The last offset that a reader has passed in a partition, and the event id at that offset ('' when it holds no claim).
 * The event id distinguishes this log from another one with the same offsets.
 */
export type Checkpoint = { offset: Offset; eventId: EventId | '' }

/** From here a reader gets every record. Frozen, because all readers share it. */
export const BEFORE_LOG: Checkpoint = Object.freeze({ offset: BEFORE_FIRST, eventId: '' })

/** The checkpoint from which a reader gets the record at this offset first. No event id identifies the log there. */
export const checkpointBefore = (offset: number): Checkpoint => ({ offset: (offset - 1) as Offset, eventId: '' })

/** A batch of records that cannot be decoded; `offset` is its first one. */
export type UndecodableBatch = { offset: Offset; codec: string; cause: unknown }

/** The result of one fetch: the records from `requested` up to `last`. */
export type Delivery<R extends LogRecord = LogRecord> = {
  requested: Offset
  last: Offset
  records: readonly R[]
  /** The batch at `requested`, in place of any records. */
  undecodable?: UndecodableBatch | undefined
}

export type DeliveryDecision<R extends LogRecord = LogRecord> =
  | { do: 'apply'; records: R[]; checkpoint: Checkpoint }
  | { do: 'seek' }
  | { do: 'wait'; batch: UndecodableBatch }
  | { do: 'halt'; reason: string }

/** The offset to fetch next: the checkpoint itself, so that the record there identifies the log. */
export function seekOffset({ offset }: Checkpoint): Offset {
  return offset === BEFORE_FIRST ? FIRST : offset
}

/** The reason why a log that ends at `end` cannot be the one of this checkpoint; undefined if it can. */
export function outOfBounds({ offset }: Checkpoint, end: Offset): string | undefined {
  return offset < end
    ? undefined
    : `another log: this reader has passed offset ${offset}, but the log ends before offset ${end}`
}

/**
 * Compares a delivery with the reader's checkpoint. Offsets may jump inside a delivery (control records, aborted
 * transactions), but not between the checkpoint and the requested offset: a delivery that was requested further on
 * needs a seek. So does one that ends earlier. Records that the reader has passed are left out.
 */
export function decideDelivery<R extends LogRecord>(
  checkpoint: Checkpoint,
  delivery: Delivery<R>,
): DeliveryDecision<R> {
  if (delivery.requested > after(checkpoint.offset)) return { do: 'seek' }
  if (delivery.undecodable !== undefined) return { do: 'wait', batch: delivery.undecodable }
  if (delivery.last < checkpoint.offset) return { do: 'seek' }
  const { eventId } = checkpoint
  if (eventId !== '' && delivery.requested <= checkpoint.offset) {
    const found = delivery.records.find(({ offset }) => offset === checkpoint.offset)?.claim?.eventId
    if (found !== eventId) {
      return {
        do: 'halt',
        reason: `another log: offset ${checkpoint.offset} should hold event ${eventId}, it holds ${found ?? 'none'}`,
      }
    }
  }
  const records = delivery.records.filter(({ offset }) => offset > checkpoint.offset)
  if (delivery.last === checkpoint.offset) return { do: 'apply', records: [], checkpoint }
  return { do: 'apply', records, checkpoint: checkpointAt(delivery.last, records) }
}

/** The checkpoint after these records up to offset `last`, which may hold a control record. */
export function checkpointAt(last: Offset, records: readonly LogRecord[]): Checkpoint {
  const record = records.at(-1)
  return { offset: last, eventId: (record?.offset === last && record.claim?.eventId) || '' }
}
