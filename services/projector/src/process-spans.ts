import type { RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import {
  type LogRecord,
  recordReader,
  type StoredRecord,
  traceparentIn,
} from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { withinProcessSpan } from '@plant-store/shared/tracing/spans.ts'

type TracedRecord = LogRecord & Pick<Parameters<typeof withinProcessSpan>[1][number], 'traceparent'>

/** A sink that applies each delivery within its span, and the reader of the records for it. */
export function traceProcessing(sink: RecordSink, place: { topic: string; partitions: number; groupId: string }) {
  const read = recordReader(place.partitions)
  return {
    ...sink,
    read: (record: StoredRecord, partition: Partition): TracedRecord => ({
      ...read(record, partition),
      traceparent: traceparentIn(record),
    }),
    onRecords: (partition, records, next, from) =>
      withinProcessSpan({ ...place, partition }, records, () => sink.onRecords(partition, records, next, from)),
  } satisfies RecordSink<TracedRecord> & { read: unknown }
}
