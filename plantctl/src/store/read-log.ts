import { type Range, replay } from '@plant-store/shared/event-log/replay.ts'
import { type LogRecord, recordReader } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import type { Store } from './open-store.ts'

export type OnRecords = (
  partition: Partition,
  records: LogRecord[],
  reached: Checkpoint,
) => Promise<void> | void

/** Reads ranges of a store's log; each record once, and then it ends. */
export function logReader(store: Store, signal: AbortSignal, onRead: (records: number) => void) {
  const read = recordReader(store.partitions)
  return (ranges: ReadonlyMap<Partition, Range>, onRecords: OnRecords): Promise<void> =>
    replay({
      ...store,
      ...{ ranges, read, signal, time: systemTime },
      async onRecords(partition, records, reached) {
        await onRecords(partition, records, reached)
        onRead(records.length)
      },
    })
}
