import { createAppender } from '../event-log/append.ts'
import { readLatestRows } from '../event-log/latest-rows.ts'
import { replay } from '../event-log/replay.ts'
import { recordReader } from '../plant/plant-created.ts'
import type { Log } from '../runtime/log.ts'
import type { Time } from '../runtime/time.ts'
import type { Stores } from '../stores/open-stores.ts'
import type { StartState } from '../stores/preconditions.ts'
import { ANOTHER_LOG_REMEDY } from './assert-rows-of-log.ts'
import type { TableStores } from './table-writer.ts'

const REMEDY = `this is not the log that the table was written from. ${ANOTHER_LOG_REMEDY}`

/** The table of these stores in Kafka. `close` ends the producer. */
export function openTable(
  { kafka, topic, partitions, readModel }: Stores,
  table: string,
  { tableId }: Pick<StartState, 'tableId'>,
  common: { log: Log; time: Time },
): TableStores & { close(): Promise<void> } {
  const { append, close } = createAppender(kafka, table, tableId)
  return {
    ...{ readModel, append, close },
    latestRows: (wanted, signal) => readLatestRows({ kafka, table, partitions, signal, ...common }, wanted),
    readLog: (ranges, onRecords, signal) =>
      replay({
        ...{ kafka, topic, partitions, ranges, onRecords, signal, remedy: REMEDY, ...common },
        read: recordReader(partitions),
      }),
  }
}
