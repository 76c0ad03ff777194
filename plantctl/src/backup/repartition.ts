import { createHash } from 'node:crypto'
import { batchBytesOf, type RawRecord, storedRecordOf } from '@plant-store/shared/event-log/raw-record.ts'
import { PARKED, readRecord } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, FIRST, type Offset, type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { recordsIn } from './manifest.ts'
import { lineOf } from './record-line.ts'
import { type Backup, type Step, singly, sumOf } from './restore-log.ts'
import type { RestoredTopic } from './restored-topic.ts'

type RepartitionOptions = { partitions: number; step: Step; signal: AbortSignal }
type Placed = { partition: Partition; record: RawRecord }

/**
 * Writes a backup into a new topic with another number of partitions. The claims of an id keep their order, so the same
 * claim is the first one. Throws a PreconditionError when the topic exists, and when the backup cannot have this number
 * of partitions.
 */
export async function repartitionLog(
  topic: RestoredTopic,
  backup: Backup,
  { partitions, step, signal }: RepartitionOptions,
): Promise<void> {
  const { manifest } = backup
  const { topicId, ends } = await topic.open()
  assertEmpty(topic.name, ends)
  const written = allPartitions(partitions).map(() => ({
    next: FIRST,
    hash: createHash('sha256'),
    pending: [] as RawRecord[],
  }))
  const writer = await topic.openWriter(topicId)

  async function flush(): Promise<void> {
    signal.throwIfAborted()
    const writes = written.entries().map(async ([partition, { pending }]) => {
      const [first] = pending
      if (first !== undefined) await writer.write(partition as Partition, pending.splice(0), first.offset)
    })
    await Promise.all(writes)
  }

  try {
    await step('writing', async ({ onStart, onRead }) => {
      onStart(recordsIn(manifest))
      let bytes = 0
      for await (const { partition, record } of inOrderOfTime(backup)) {
        const target = written[
          targetOf(record, partition, manifest.partitions.length, partitions)
        ] as (typeof written)[number]
        const moved = { ...record, offset: target.next }
        bytes += batchBytesOf(moved)
        // A batch of one partition is not larger than that of all.
        if (bytes > topic.batchBytes) {
          await flush()
          bytes = batchBytesOf(moved)
        }
        target.next = (target.next + 1) as Offset
        target.hash.update(lineOf(moved))
        target.pending.push(moved)
        onRead(1)
      }
      await flush()
    })
  } finally {
    await writer.close()
  }
  const digests = written.map(() => createHash('sha256'))
  await step('comparing what was written', ({ onStart, onRead }) => {
    const ranges = new Map(
      written.map(({ next }, partition) => [partition as Partition, { from: BEFORE_LOG, end: next }]),
    )
    onStart(recordsIn(manifest))
    return topic.reader(onRead)(ranges, (partition, records) => {
      for (const record of records) digests[partition]?.update(lineOf(record))
    })
  })
  const reached = await topic.readEnds()
  for (const [partition, { next, hash }] of written.entries()) {
    if (reached[partition] === next && hash.digest('hex') === digests[partition]?.digest('hex')) continue
    throw new PreconditionError(
      `partition ${partition} of ${topic.name} is not what was written: another program writes to it. End that program, delete ` +
        'the topic and run this again',
    )
  }
  await topic.release()
}

/** Throws the PreconditionErrors of `repartitionLog` for a record without a place, and for a topic that is not empty. */
export async function checkRepartition(
  { name, ends }: { name: string; ends: readonly Offset[] },
  { manifest, recordsOf }: Backup,
  { partitions, step, signal }: RepartitionOptions,
): Promise<void> {
  assertEmpty(name, ends)
  const before = manifest.partitions.length
  await step('checking where the records go', async ({ onStart, onRead }) => {
    onStart(recordsIn(manifest))
    for (const partition of allPartitions(before)) {
      for await (const records of recordsOf(partition)) {
        signal.throwIfAborted()
        for (const record of records) targetOf(record, partition, before, partitions)
        onRead(records.length)
      }
    }
  })
}

function assertEmpty(topic: string, ends: readonly Offset[]): void {
  if (sumOf(ends) === 0) return
  throw new PreconditionError(`topic ${topic} has records of an interrupted run: delete it, and run this again`)
}

/** All records of a backup: in a partition by offset, among partitions the earliest one first. */
async function* inOrderOfTime({ manifest, recordsOf }: Backup): AsyncGenerator<Placed> {
  const sources = allPartitions(manifest.partitions.length).map((partition) => ({
    ...{ partition, records: singly(recordsOf(partition)) },
    next: undefined as RawRecord | undefined,
  }))
  for (const source of sources) source.next = (await source.records.next()).value
  while (true) {
    let earliest: (typeof sources)[number] | undefined
    for (const source of sources) {
      if (source.next === undefined) continue
      if (earliest?.next === undefined || Number(source.next.timestamp) < Number(earliest.next.timestamp))
        earliest = source
    }
    if (earliest?.next === undefined) return
    yield { partition: earliest.partition, record: earliest.next }
    earliest.next = (await earliest.records.next()).value
  }
}

/**
 * The partition of a record among `count`, by its key. A claim that was in a wrong partition claims nothing, so it has to
 * be in a wrong one again: in the right one it could be the first of its id. Throws a PreconditionError when there is no
 * wrong one.
 */
export function targetOf(record: RawRecord, partition: Partition, before: number, count: number): Partition {
  const { key, offset } = record
  if (key === null) return (partition % count) as Partition
  const own = partitionOf(key, count)
  if (readRecord(storedRecordOf(record), partition, before).parked !== PARKED.wrongPartition) return own
  if (count > 1) return ((own + 1) % count) as Partition
  throw new PreconditionError(
    `record ${partition}-${offset} is in the wrong partition and claims nothing: in a single partition it would claim its ` +
      'id. Choose more partitions',
  )
}
