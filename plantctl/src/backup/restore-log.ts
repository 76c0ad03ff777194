import { reasonOf } from '@plant-store/shared/event-log/broker-errors.ts'
import { openExactWriter } from '@plant-store/shared/event-log/exact-writer.ts'
import { commitGroupOffsets } from '@plant-store/shared/event-log/groups.ts'
import { createLatchedTopic, isLatched } from '@plant-store/shared/event-log/latch.ts'
import { batchBytesOf, type RawRecord } from '@plant-store/shared/event-log/raw-record.ts'
import type { Range } from '@plant-store/shared/event-log/replay.ts'
import { confirmed, type LogEnds, readEnds } from '@plant-store/shared/event-log/topic.ts'
import { readConfiguration, setConfiguration } from '@plant-store/shared/event-log/topic-configuration.ts'
import { after, allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { type LogOfStore, retryForSeconds } from '../store/open-store.ts'
import { rawReader } from '../store/read-log.ts'
import { recordsOfPartition } from './check-backup.ts'
import type { GroupBackup, Manifest } from './manifest.ts'
import { lineOf } from './record-line.ts'

/** Each partition has at most one file of the backup in memory, and one batch on its way. */
const PARTITIONS_AT_ONCE = 4
export const BATCH_BYTES = 512 * 1_024

/** The longest session of a consumer by default, and a little more. */
const SESSION_MAX_MS = 60_000
const COMMIT_EVERY_MS = 1_000

type Writer = Awaited<ReturnType<typeof openExactWriter>>

export type Step = <T>(
  what: string,
  work: (progress: { onStart(records: number): void; onRead(records: number): void }) => Promise<T>,
) => Promise<T>

export type RestoreOptions = {
  /** Runs a step of the restore, and shows its progress. */
  step: Step
  /** If true, the offsets of the consumer groups are committed, too. */
  withGroups: boolean
  signal: AbortSignal
}

/**
 * Writes a backup into a new topic, with the same offsets: each record byte by byte, and where the log has no record for
 * readers, an aborted transaction. Until the whole topic was read and compared, it has the latch. Continues what an
 * earlier run has begun. Throws a PreconditionError for a topic without the latch, and for one with other records.
 */
export async function restoreLog(
  log: LogOfStore,
  folder: string,
  manifest: Manifest,
  { step, withGroups, signal }: RestoreOptions,
): Promise<void> {
  const { kafka, topic } = log
  const partitions = allPartitions(manifest.partitions.length)
  const ends = manifest.partitions.map(({ end }) => end)
  const { topicId, ends: reached } = await openLatchedTopic(log, manifest)
  const writer = await openExactWriter(kafka, topic, topicId)
  try {
    await inTurns(partitions, async (partition) => {
      reached[partition] = await writer.takeOver(partition)
    })
    if (sumOf(reached) > 0) {
      await step('comparing the records of an earlier run', ({ onStart, onRead }) => {
        onStart(sumOf(reached))
        return compareLog(log, folder, manifest, reached, { onRead, signal })
      })
    }
    await step('restoring', ({ onStart, onRead }) => {
      onStart(sumOf(ends) - sumOf(reached))
      return inTurns(partitions, (partition) => {
        signal.throwIfAborted()
        return writePartition(writer, recordsOfPartition(folder, manifest, partition), {
          ...{ partition, from: reached[partition] as Offset, end: ends[partition] as Offset, signal, onRead },
        })
      })
    })
  } finally {
    await writer.close()
  }
  await step('comparing with the backup', ({ onStart, onRead }) => {
    onStart(sumOf(ends))
    return compareLog(log, folder, manifest, ends, { onRead, signal })
  })
  for (const group of withGroups ? manifest.groups : []) await restoreGroup(log, group)
  await setConfiguration(kafka, topic, configurationOf(manifest))
}

/** Waits for the sessions of members that ended without leaving their group: Kafka refuses a commit until then. */
async function restoreGroup({ kafka, topic, log }: LogOfStore, { groupId, offsets }: GroupBackup): Promise<void> {
  const textOf = (cause: unknown) =>
    `the offsets of group ${groupId} cannot be committed: ${reasonOf(cause, { topic, groupId })}`
  await retry(() => commitGroupOffsets(kafka, groupId, topic, offsets), {
    ...{ everyMs: COMMIT_EVERY_MS, giveUpAfterMs: SESSION_MAX_MS },
    onFailure: (cause) => log.warn(`${textOf(cause)}: waiting`),
  }).catch((cause: unknown) => {
    throw new PreconditionError(`${textOf(cause)}. End its consumers, then run the restore again, or add --groups none`)
  })
}

export const sumOf = (offsets: readonly Offset[]) => offsets.reduce<number>((sum, offset) => sum + offset, 0)

/**
 * True if an earlier run has begun to restore the topic, false if there is no such topic. Throws a PreconditionError for
 * any other topic.
 */
export async function isBegun({ kafka, topic }: LogOfStore): Promise<boolean> {
  const found = await retryForSeconds(() => readConfiguration(kafka, topic), topic)
  if (found === undefined || isLatched(found)) return found !== undefined
  throw new PreconditionError(
    `topic ${topic} exists: to restore it, stop the services and delete it first; to try a restore, add --topic`,
  )
}

/** Creates the topic, unless an earlier run has. */
export async function openLatchedTopic(log: LogOfStore, manifest: Manifest): Promise<LogEnds> {
  const { kafka, topic } = log
  if (!(await isBegun(log)))
    await createLatchedTopic(kafka, log, configurationOf(manifest), manifest.largestRecordBytes)
  return retryForSeconds(() => confirmed(() => readEnds(kafka, topic)), topic)
}

export const configurationOf = ({ configuration }: Manifest) => new Map(Object.entries(configuration))

/** Does the work for some partitions at a time. */
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
  writer: Pick<Writer, 'write' | 'skip'>,
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
      if (bytes + recordBytes > BATCH_BYTES) await flush()
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
  log: LogOfStore,
  folder: string,
  manifest: Manifest,
  ends: readonly Offset[],
  { onRead, signal }: { onRead(records: number): void; signal: AbortSignal },
): Promise<void> {
  const { topic } = log
  const read = rawReader(log, signal, onRead)
  const left = allPartitions(manifest.partitions.length)
  while (left.length > 0) {
    const group = left.splice(0, PARTITIONS_AT_ONCE)
    const expected = new Map(
      group.map((partition) => [partition, singly(recordsOfPartition(folder, manifest, partition))]),
    )
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

const differs = (topic: string, partition: Partition, offset: Offset) =>
  new PreconditionError(
    `partition ${partition} of ${topic} differs from the backup at offset ${offset}: another program wrote to it. End ` +
      'that program, delete the topic and restore it again',
  )

export async function* singly<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const batch of batches) yield* batch
}
