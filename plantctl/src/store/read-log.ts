import { type Range, replay } from '@plant-store/shared/event-log/replay.ts'
import {
  checkTopic,
  openTransactionText,
  readEnds,
  TABLE,
  type TopicKind,
} from '@plant-store/shared/event-log/topic.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { type TableRecord, tableRecordReader } from '@plant-store/shared/plant/plant-stored.ts'
import { type Offset, type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import type { Store } from './open-store.ts'

export type OnRecords = (partition: Partition, records: LogRecord[], reached: Checkpoint) => Promise<void> | void

/** The next offset of each partition of the log, or of the table. Warns of each that ends at an open transaction. */
export async function readLogEnds(
  { kafka, topic, partitions, log }: Pick<Store, 'kafka' | 'topic' | 'partitions' | 'log'>,
  kind?: TopicKind,
): Promise<Offset[]> {
  const { ends, openTransactions } = await checkTopic(kafka, { topic, partitions }, kind)
  for (const one of openTransactions) log.warn(openTransactionText(topic, one))
  return ends
}

/** Reads ranges of a store's log: each record once, then it resolves. */
export function logReader(store: Omit<Store, 'close'>, signal: AbortSignal, onRead: (records: number) => void) {
  const read = recordReader(store.partitions)
  return (ranges: ReadonlyMap<Partition, Range>, onRecords: OnRecords): Promise<void> =>
    replay({
      ...store,
      ranges,
      read,
      signal,
      time: systemTime,
      async onRecords(partition, records, reached) {
        await onRecords(partition, records, reached)
        onRead(records.length)
      },
    })
}

/** Reads ranges of a store's table. Rejects as `replay`. */
export const tableReader =
  (store: Store, table: string, signal: AbortSignal, onRead: (records: number) => void) =>
  (
    ranges: ReadonlyMap<Partition, Range>,
    onRecords: (partition: Partition, records: TableRecord[]) => void,
  ): Promise<void> =>
    replay({
      ...store,
      ...{ topic: table, ranges, signal, time: systemTime },
      read: tableRecordReader(store.partitions),
      ends: () => readEnds(store.kafka, table, TABLE.lost),
      onRecords(partition, records) {
        onRecords(partition, records)
        onRead(records.length)
      },
    })

/** The key of the events of a plant. */
export const keyOf = (id: PlantId): Buffer => Buffer.from(String(id), 'latin1')

export const partitionOfId = (id: PlantId, partitions: number): Partition => partitionOf(keyOf(id), partitions)
