import type { EventId } from '../plant/event-id.ts'
import { after, BEFORE_FIRST, FIRST, type Offset } from '../plant/offset.ts'
import type { LogRecord } from '../plant/plant-created.ts'

/**
 * How far a reader of a partition has come: the last offset passed, and the event id found there ('' when
 * that offset holds no claim). The event id tells this log from another one with the same offsets.
 */
export type Checkpoint = { offset: Offset; eventId: EventId | '' }

/** What Kafka delivered: records from `askedFor` on, up to `last`; `end` is the next offset to be written. */
export type Delivery<R extends LogRecord = LogRecord> = {
  askedFor: Offset
  last: Offset
  end: Offset
  records: readonly R[]
}

export type Admission<R extends LogRecord = LogRecord> =
  | { do: 'apply'; records: R[]; checkpoint: Checkpoint }
  | { do: 'seek' }
  | { do: 'halt'; reason: string }

/** Where to fetch next: from the checkpoint itself, so that the record there proves which log this is. */
export function seekOffset({ offset }: Checkpoint): Offset {
  return offset === BEFORE_FIRST ? FIRST : offset
}

/** Why a log whose next offset is `end` can't be the one this checkpoint was taken from; undefined if it can. */
export function outOfBounds({ offset }: Checkpoint, end: Offset): string | undefined {
  return offset < end
    ? undefined
    : `another log: this reader has passed offset ${offset}, but the log ends before offset ${end}`
}

/**
 * Judges a delivery against the reader's checkpoint. Offsets may jump inside a delivery (control
 * records, aborted transactions), never between the offset asked for and the checkpoint: a delivery that
 * was asked for beyond the checkpoint is sought back. What was passed before is left out.
 */
export function decideDelivery<R extends LogRecord>(
  checkpoint: Checkpoint,
  delivery: Delivery<R>,
): Admission<R> {
  const bounds = outOfBounds(checkpoint, delivery.end)
  if (bounds !== undefined) return { do: 'halt', reason: bounds }
  if (delivery.askedFor > after(checkpoint.offset)) return { do: 'seek' }
  const { eventId } = checkpoint
  if (eventId !== '' && delivery.askedFor <= checkpoint.offset && delivery.last >= checkpoint.offset) {
    const found = delivery.records.find(({ offset }) => offset === checkpoint.offset)?.claim?.eventId
    if (found !== eventId) {
      return {
        do: 'halt',
        reason: `another log: offset ${checkpoint.offset} should hold event ${eventId}, it holds ${found ?? 'none'}`,
      }
    }
  }
  const records = delivery.records.filter(({ offset }) => offset > checkpoint.offset)
  if (delivery.last <= checkpoint.offset) return { do: 'apply', records: [], checkpoint }
  return { do: 'apply', records, checkpoint: checkpointAt(delivery.last, records) }
}

/** The checkpoint after passing these records up to offset `last`, which may hold a control record. */
export function checkpointAt(last: Offset, records: readonly LogRecord[]): Checkpoint {
  const record = records.at(-1)
  return { offset: last, eventId: (record?.offset === last && record.claim?.eventId) || '' }
}
