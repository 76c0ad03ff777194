import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readOffsetsOfAllGroups } from '@plant-store/shared/event-log/groups.ts'
import type { TopicId } from '@plant-store/shared/event-log/log-identity.ts'
import { batchBytesOf, type RawRecord, rawRecordOf } from '@plant-store/shared/event-log/raw-record.ts'
import { type Range, replay } from '@plant-store/shared/event-log/replay.ts'
import { checkTopic, openTransactionText } from '@plant-store/shared/event-log/topic.ts'
import { readConfiguration } from '@plant-store/shared/event-log/topic-configuration.ts'
import { type LogRecord, recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { checkpointBefore } from '@plant-store/shared/protocol/checkpoint.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import type { LogOfStore } from '../store/open-store.ts'
import { createFileWriter, recordsOf } from './backup-file.ts'
import { lockFolder } from './folder-lock.ts'
import { type BackupFile, type Manifest, type PartitionBackup, readManifest, writeManifest } from './manifest.ts'

type RecordToBackUp = LogRecord & { raw: RawRecord }

export type BackupOptions = {
  signal: AbortSignal
  onStart?(records: number): void
  onRead?(records: number): void
}

const REMEDY = 'Restore it with plantctl restore, or back this log up into another folder'
const GROUPS_MISSING =
  'the backup may lack the offsets of some consumer groups: Kafka refuses this user Describe on group *: add the ACL'
const OWN_NAME = /^\d{4}-\d{15}-\d{15}\.jsonl\.gz$|\.part$/
const NOTHING: PartitionBackup = { end: FIRST, files: [] }

/**
 * Adds to the backup in a folder what the log has more than it. The backup changes when its manifest is replaced, last;
 * until then it stays as it was. Resolves with the manifest, and the number of added records. Throws when the folder
 * has the backup of another log, or another process writes to it.
 */
export async function writeBackup(log: LogOfStore, folder: string, options: BackupOptions) {
  const lock = await lockFolder(folder)
  try {
    const before = await readManifest(folder)
    const manifest = await addToBackup(log, folder, before, options)
    await lock.assertHeld()
    await writeManifest(folder, manifest)
    await removeOthers(folder, manifest)
    return { manifest, added: recordsIn(manifest) - (before === undefined ? 0 : recordsIn(before)) }
  } finally {
    await lock.release()
  }
}

export const recordsIn = ({ partitions }: Manifest): number =>
  partitions.flatMap(({ files }) => files).reduce((sum, { records }) => sum + records, 0)

async function addToBackup(
  { kafka, topic, partitions, log }: LogOfStore,
  folder: string,
  before: Manifest | undefined,
  { signal, onStart, onRead }: BackupOptions,
): Promise<Manifest> {
  const takenAt = new Date().toISOString()
  // Before the ends: restored, no group may be ahead of the log.
  const { groups, areAll } = await readOffsetsOfAllGroups(kafka, topic)
  const configuration = await readConfiguration(kafka, topic)
  const { topicId, ends, openTransactions } = await checkTopic(kafka, { topic, partitions })
  for (const one of openTransactions) log.warn(openTransactionText(topic, one))
  if (!areAll) log.warn(GROUPS_MISSING)
  const known = before?.partitions ?? allPartitions(partitions).map(() => NOTHING)
  const change = changeOf(before?.topicId, topicId)
  assertContinues(known, ends, topic, change)

  const parts = known.map(({ end: before, last, files }, n) => {
    const [partition, end, kept] = [n as Partition, ends[n] as Offset, [...files]]
    const rewritten = takeSmallFiles(kept, end - before)
    const writer = createFileWriter(folder, partition, kept.at(-1)?.end ?? FIRST)
    /** `sought` is the last claim of the backup, until it is found in the log. */
    return { partition, before, end, last, sought: last, kept, rewritten, writer }
  })
  let largestRecordBytes = before?.largestRecordBytes ?? 0
  try {
    for (const { rewritten, writer } of parts)
      for (const file of rewritten) for await (const records of recordsOf(folder, file)) await writer.add(records)
    const ranges = new Map(parts.map((part) => [part.partition, rangeOf(part)]))
    onStart?.(parts.reduce((sum, part) => sum + part.end - part.before, 0))
    const read = recordReader(partitions)
    await replay<RecordToBackUp>({
      ...{ kafka, topic, partitions, log, ranges, signal, time: systemTime },
      read: (record, partition, decoded) => ({ ...read(record, partition), raw: rawRecordOf(decoded) }),
      async onRecords(partition, records) {
        const part = parts[partition] as (typeof parts)[number]
        if (
          records.some(({ claim }) => claim?.offset === part.sought?.offset && claim?.eventId === part.sought?.eventId)
        )
          part.sought = undefined
        const added = records.filter(({ offset }) => offset >= part.before)
        for (const { raw } of added) largestRecordBytes = Math.max(largestRecordBytes, batchBytesOf(raw))
        const claim = added.findLast((record) => record.claim !== undefined)?.claim
        if (claim !== undefined) part.last = { offset: claim.offset, eventId: claim.eventId }
        await part.writer.add(added.map(({ raw }) => raw))
        onRead?.(added.length)
      },
    })
    for (const { partition, sought } of parts) {
      if (sought === undefined) continue
      throw new PreconditionError(
        `topic ${topic} does not hold event ${sought.eventId} at ${partition}-${sought.offset}, as the backup does: ` +
          `${change}. ${REMEDY}`,
      )
    }
    for (const { kept, writer, end } of parts) kept.push(...(await writer.finish(end)))
    return {
      ...{ format: 1, takenAt, topic, topicId: topicId ?? null, largestRecordBytes },
      configuration: Object.fromEntries(configuration ?? []),
      partitions: parts.map(({ end, last, kept }) => ({ end, ...(last && { last }), files: kept })),
      groups: [...groups].map(([groupId, offsets]) => ({
        groupId,
        offsets: [...offsets].map(([partition, offset]) => ({ partition, ...offset })),
      })),
    }
  } catch (error) {
    for (const { writer } of parts) await writer.abandon()
    throw error
  }
}

/** What became of the topic of a backup that the log does not continue. A restored topic continues it with another id. */
function changeOf(before: Manifest['topicId'] | undefined, now: TopicId | undefined): string {
  if (!before || !now) return 'it is another log, or has lost its end'
  return before === now ? 'it has lost its end' : 'it was recreated, or is another topic'
}

function assertContinues(
  known: readonly PartitionBackup[],
  ends: readonly Offset[],
  topic: string,
  change: string,
): void {
  if (known.length !== ends.length) {
    throw new PreconditionError(
      `the backup has ${known.length} partitions, but topic ${topic} has ${ends.length}. ${REMEDY}`,
    )
  }
  for (const [partition, { end }] of known.entries()) {
    if (end <= (ends[partition] as Offset)) continue
    throw new PreconditionError(
      `the backup of partition ${partition} ends at offset ${end}, but topic ${topic} at ${ends[partition]}: ` +
        `${change}. ${REMEDY}`,
    )
  }
}

/** Takes small files off the end: they are written anew with as many new records, so that their number stays small. */
function takeSmallFiles(files: BackupFile[], newRecords: number): BackupFile[] {
  let first = files.length
  for (let records = newRecords; first > 0; first--) {
    const file = files[first - 1] as BackupFile
    if (file.records > records) break
    records += file.records
  }
  return files.splice(first)
}

/** The last claim is read again: it shows whether this is the same log. */
function rangeOf({ before, last, end }: { before: Offset; last?: PartitionBackup['last']; end: Offset }): Range {
  return { from: checkpointBefore(last?.offset ?? before), end }
}

/** Deletes what earlier backups have left behind: files that were written anew, or are not complete. */
async function removeOthers(folder: string, { partitions }: Manifest): Promise<void> {
  const named = new Set(partitions.flatMap(({ files }) => files.map(({ name }) => name)))
  for (const name of await readdir(folder)) {
    if (OWN_NAME.test(name) && !named.has(name)) await rm(join(folder, name))
  }
}
