import type { FollowOptions } from '@plant-store/shared/event-log/follow.ts'
import { type RawRecord, rawRecordOf } from '@plant-store/shared/event-log/raw-record.ts'
import { type ReplayOptions, replay } from '@plant-store/shared/event-log/replay.ts'
import {
  checkTopic,
  openTransactionText,
  readEnds,
  TABLE,
  type TopicKind,
} from '@plant-store/shared/event-log/topic.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { tableRecordReader } from '@plant-store/shared/plant/plant-stored.ts'
import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { retryForSeconds, type Store } from './open-store.ts'

/** A log to read. Its records are read as this release reads them, unless `read` is given. */
export type LogSource = Pick<Store, 'kafka' | 'topic' | 'partitions' | 'log'> & Partial<Pick<FollowOptions, 'read'>>

/**
 * The next offset of each partition of the log, or of the table. Warns of each that ends at an open transaction. An
 * election must not end a verification of an hour.
 */
export async function readLogEnds({ kafka, topic, partitions, log }: LogSource, kind?: TopicKind): Promise<Offset[]> {
  const check = () => checkTopic(kafka, { topic, partitions }, kind)
  const { ends, openTransactions } = await retryForSeconds(check, topic)
  for (const one of openTransactions) log.warn(openTransactionText(topic, one))
  return ends
}

export async function readCheckpoints({ readModel, partitions }: Pick<Store, 'readModel' | 'partitions'>) {
  const metas = await Promise.all(allPartitions(partitions).map(readModel.meta))
  return new Map(metas.map(({ checkpoint }, partition) => [partition as Partition, checkpoint] as const))
}

type OnRead = (records: number) => void

/** Reads ranges of a store's log: each record once, then it resolves. */
export function logReader(store: LogSource, signal: AbortSignal, onRead: OnRead = () => {}) {
  return rangeReader({ read: recordReader(store.partitions), ...store, signal, time: systemTime }, onRead)
}

/** Reads ranges of a store's table. Rejects as `replay`. */
export function tableReader(store: Store, table: string, signal: AbortSignal, onRead: OnRead) {
  const ends = () => readEnds(store.kafka, table, TABLE.lost)
  const read = tableRecordReader(store.partitions)
  return rangeReader({ ...store, topic: table, ends, read, signal, time: systemTime }, onRead)
}

/** Reads ranges of a topic byte by byte, also of one that is being restored. */
export function rawReader({ kafka, topic, partitions, log }: LogSource, signal: AbortSignal, onRead: OnRead) {
  const source = { kafka, topic, partitions, log, signal, time: systemTime, ends: () => readEnds(kafka, topic) }
  return rangeReader<RawRecord>({ ...source, read: (_record, _partition, decoded) => rawRecordOf(decoded) }, onRead)
}

function rangeReader<R extends LogRecord>(source: Omit<ReplayOptions<R>, 'ranges' | 'onRecords'>, onRead: OnRead) {
  return (ranges: ReplayOptions<R>['ranges'], onRecords: ReplayOptions<R>['onRecords']): Promise<void> =>
    replay({
      ...source,
      ranges,
      async onRecords(partition, records, reached) {
        await onRecords(partition, records, reached)
        onRead(records.length)
      },
    })
}

export const keyOf = (id: PlantId): Buffer => Buffer.from(String(id), 'latin1')
