import { batchBytesOf, type RawRecord } from '@plant-store/shared/event-log/raw-record.ts'
import type { Range } from '@plant-store/shared/event-log/replay.ts'
import { after, allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Progress } from '../terminal/progress.ts'
import type { Manifest } from './manifest.ts'
import { lineOf } from './record-line.ts'
import type { ExactWriter, RestoredTopic } from './restored-topic.ts'

/** Each partition has one batch on its way. */
const PARTITIONS_AT_ONCE = 4

export type Backup = {
  manifest: Manifest
  /** The records of a partition in their order, in batches. */
  recordsOf(partition: Partition): AsyncIterable<readonly RawRecord[]>
}

export type Step = <T>(what: string, work: (progress: Progress) => Promise<T>) => Promise<T>

export type RestoreOptions = {
  /** Runs a step of the restore, and shows its progress. */
  step: Step
  /** If true, the offsets of the consumer groups are committed, too. */
  withGroups: boolean
  signal: AbortSignal
}

/**
 * Writes a backup into a new topic, with the same offsets: each record byte by byte, and where the log has no record for
 * readers, aborted transactions. Until the whole topic was read and compared, it has the latch. Continues what an
 * earlier run has begun. Throws a PreconditionError for a topic without the latch, and for one with other records.
 */
export async function restoreLog(
  topic: RestoredTopic,
  backup: Backup,
  { step, withGroups, signal }: RestoreOptions,
): Promise<void> {
  const { manifest, recordsOf } = backup
  const partitions = allPartitions(manifest.partitions.length)
  const ends = manifest.partitions.map(({ end }) => end)
  const { topicId, ends: reached } = await topic.open()
  const writer = await topic.openWriter(topicId)
  try {
    await inTurns(partitions, async (partition) => {
      reached[partition] = await writer.takeOver(partition)
    })
    if (sumOf(reached) > 0) {
      await step('comparing the records of an earlier run', ({ onStart, onRead }) => {
        onStart(sumOf(reached))
        return compareLog(topic, backup, reached, onRead)
      })
    }
    await step('restoring', ({ onStart, onRead }) => {
      onStart(sumOf(ends) - sumOf(reached))
      return inTurns(partitions, (partition) => {
        signal.throwIfAborted()
        return writePartition(writer, topic.batchBytes, recordsOf(partition), {
          ...{ partition, from: reached[partition] as Offset, end: ends[partition] as Offset, signal, onRead },
        })
      })
    })
  } finally {
    await writer.close()
  }
  await step('comparing with the backup', ({ onStart, onRead }) => {
    onStart(sumOf(ends))
    return compareLog(topic, backup, ends, onRead)
  })
  for (const [partition, end] of (await topic.readEnds()).entries())
    if (end !== ends[partition]) throw differs(topic, partition as Partition, ends[partition] as Offset)
  for (const group of withGroups ? manifest.groups : []) await topic.commitOffsets(group)
  await topic.release()
}

export const sumOf = (offsets: readonly Offset[]) => offsets.reduce<number>((sum, offset) => sum + offset, 0)

async function inTurns(partitions: readonly Partition[], work: (partition: Partition) => Promise<void>): Promise<void> {
  const left = [...partitions]
  const turns = Array.from({ length: PARTITIONS_AT_ONCE }, async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next)
  })
  await Promise.all(turns)
}

type Target = { partition: Partition; from: Offset; end: Offset; onRead(records: number): void; signal: AbortSignal }

/** Writes the records from an offset on, and the gaps between them. */
async function writePartition(
  writer: Pick<ExactWriter, 'write' | 'skip'>,
  batchBytes: number,
  records: AsyncIterable<readonly RawRecord[]>,
  { partition, from, end, onRead, signal }: Target,
): Promise<void> {
  let batch: RawRecord[] = []
  let bytes = 0
  let next = from

  async function flush(): Promise<void> {
    const [first] = batch
    if (first === undefined) return
    signal.throwIfAborted()
    await writer.write(partition, batch, first.offset)
    onRead(batch.length)
    batch = []
    bytes = 0
  }

  async function skipTo(offset: Offset): Promise<void> {
    if (offset <= next) return
    await flush()
    await writer.skip(partition, next, offset)
    onRead(offset - next)
  }

  for await (const some of records) {
    for (const record of some) {
      if (record.offset < from) continue
      await skipTo(record.offset)
      const recordBytes = batchBytesOf(record)
      if (bytes + recordBytes > batchBytes) await flush()
      bytes += recordBytes
      batch.push(record)
      next = after(record.offset)
    }
  }
  await flush()
  await skipTo(end)
}

/** Throws a PreconditionError unless the log has the records of the backup before these offsets, and no others. */
async function compareLog(
  topic: RestoredTopic,
  { manifest, recordsOf }: Backup,
  ends: readonly Offset[],
  onRead: (records: number) => void,
): Promise<void> {
  const read = topic.reader(onRead)
  const left = allPartitions(manifest.partitions.length)
  while (left.length > 0) {
    const group = left.splice(0, PARTITIONS_AT_ONCE)
    const expected = new Map(group.map((partition) => [partition, singly(recordsOf(partition))]))
    const ranges = new Map(
      group.map((partition): [Partition, Range] => [partition, { from: BEFORE_LOG, end: ends[partition] as Offset }]),
    )
    await read(ranges, async (partition, records) => {
      for (const record of records) {
        const { value } = (await expected.get(partition)?.next()) ?? {}
        if (value === undefined || lineOf(value) !== lineOf(record)) throw differs(topic, partition, record.offset)
      }
    })
    for (const [partition, records] of expected) {
      const { value } = await records.next()
      const end = ends[partition] as Offset
      if (value !== undefined && value.offset < end) throw differs(topic, partition, value.offset)
    }
  }
}

const differs = ({ name }: RestoredTopic, partition: Partition, offset: Offset) =>
  new PreconditionError(
    `partition ${partition} of ${name} differs from the backup at offset ${offset}: another program wrote to it. End ` +
      'that program, delete the topic and restore it again',
  )

export async function* singly<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const batch of batches) yield* batch
}
