import type { Follower } from '@plant-store/shared/event-log/follow.ts'
import type { RecordSink } from '@plant-store/shared/event-log/partition-cursors.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { Generations } from '@plant-store/shared/read-model/generations.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import type { GenerationReader } from '../verify/compare.ts'
import type { ReadLog } from '../verify/slice.ts'
import type { PartitionProgress } from './rebuild-progress.ts'

export type RebuildRun = {
  partitions: readonly Partition[]
  /** Also fills partitions of which Redis has nothing. */
  fromEmpty: boolean
  /** Over all partitions; unlimited without it. */
  recordsPerSecond?: number | undefined
  onProgress(progress: PartitionProgress): void
  /** Interrupts the rebuild, which rejects with its reason. The next one continues with what was filled. */
  signal: AbortSignal
  /** Records folded in memory at once: about 80 bytes each, twice that while a partition is verified. */
  recordsAtOnceMax?: number
}

export type RebuildOptions = RebuildRun & {
  generations: Pick<Generations, 'startFilling' | 'fill' | 'mark' | 'switchTo' | 'drop' | 'list'> & GenerationReader
  /** Follows some partitions of the log into a record sink. */
  follow(
    sink: RecordSink,
    only: ReadonlySet<Partition>,
  ): Pick<Follower, 'start' | 'assigned' | 'reloadCheckpoints' | 'close'>
  readEnds(): Promise<Offset[]>
  /** Returns a reader of the log that calls `onRead` after each batch. */
  readerOfLog(signal: AbortSignal, onRead: () => void): ReadLog
  /** Returns a text that never was the name or mark of a generation. */
  freshName(): string
  /** Plants that are read back and compared at once; a power of two. */
  plantsPerSpan?: number
  maxRecordsPerApply?: number
  time: Time
  log: Log
}

export type GroupOptions = RebuildOptions & {
  /** The next offset of each partition when the rebuild started. */
  ends: readonly Offset[]
  /** Waits until this many more records are allowed. */
  keepPace(records: number, signal: AbortSignal, onAlive: () => void): Promise<void>
}
