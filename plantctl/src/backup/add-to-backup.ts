import type { GroupOffsets } from '@plant-store/shared/event-log/groups.ts'
import type { TopicId } from '@plant-store/shared/event-log/log-identity.ts'
import { batchBytesOf, type RawRecord } from '@plant-store/shared/event-log/raw-record.ts'
import type { Range, ReplayOptions } from '@plant-store/shared/event-log/replay.ts'
import { type checkTopic, openTransactionText } from '@plant-store/shared/event-log/topic.ts'
import type { Configuration } from '@plant-store/shared/event-log/topic-configuration.ts'
import type { LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { checkpointBefore } from '@plant-store/shared/protocol/checkpoint.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Progress } from '../terminal/progress.ts'
import type { createFileWriter } from './backup-file.ts'
import type { BackupFile, Manifest, PartitionBackup } from './manifest.ts'

export type RecordToBackUp = LogRecord & { raw: RawRecord }

export type BackedUpLog = {
  topic: string
  readGroups(): Promise<{ groups: ReadonlyMap<string, GroupOffsets>; areAll: boolean }>
  readConfiguration(): Promise<Configuration | undefined>
  readTopic(): ReturnType<typeof checkTopic>
  /** Reads ranges, each record once. */
  read(ranges: ReadonlyMap<Partition, Range>, onRecords: ReplayOptions<RecordToBackUp>['onRecords']): Promise<void>
  warn(text: string): void
}

export type BackupFiles = {
  recordsOf(file: BackupFile): AsyncIterable<readonly RawRecord[]>
  writer(partition: Partition, from: Offset): ReturnType<typeof createFileWriter>
}

const REMEDY = 'Restore it with plantctl restore, or back this log up into another folder'
const GROUPS_MISSING =
  'the backup may lack the offsets of some consumer groups: Kafka refuses this user Describe on group *: add the ACL'
const NOTHING: PartitionBackup = { end: FIRST, files: [] }

/**
 * Writes what the log has more than a backup. Resolves with the manifest of both. Throws a PreconditionError when the
 * backup is of another log.
 */
export async function addToBackup(
  log: BackedUpLog,
  files: BackupFiles,
  before: Manifest | undefined,
  { onStart, onRead }: Progress,
): Promise<Manifest> {
  const { topic } = log
  const takenAt = new Date().toISOString()
  // Before the ends: restored, no group may be ahead of the log.
  const { groups, areAll } = await log.readGroups()
  const configuration = await log.readConfiguration()
  const { topicId, ends, openTransactions } = await log.readTopic()
  for (const one of openTransactions) log.warn(openTransactionText(topic, one))
  if (!areAll) log.warn(GROUPS_MISSING)
  const known = before?.partitions ?? ends.map(() => NOTHING)
  const change = changeOf(before?.topicId, topicId)
  assertContinues(known, ends, topic, change)

  const parts = known.map(({ end: before, last, files: all }, n) => {
    const [partition, end, kept] = [n as Partition, ends[n] as Offset, [...all]]
    const rewritten = takeSmallFiles(kept, end - before)
    const writer = files.writer(partition, kept.at(-1)?.end ?? FIRST)
    /** `sought` is the last claim of the backup, until it is found in the log. */
    return { partition, before, end, last, sought: last, kept, rewritten, writer }
  })
  let largestRecordBytes = before?.largestRecordBytes ?? 0
  try {
    for (const { rewritten, writer } of parts)
      for (const file of rewritten) for await (const records of files.recordsOf(file)) await writer.add(records)
    const ranges = new Map(parts.map((part) => [part.partition, rangeOf(part)]))
    onStart(parts.reduce((sum, part) => sum + part.end - part.before, 0))
    await log.read(ranges, async (partition, records) => {
      const part = parts[partition] as (typeof parts)[number]
      if (records.some(({ claim }) => claim?.offset === part.sought?.offset && claim?.eventId === part.sought?.eventId))
        part.sought = undefined
      const added = records.filter(({ offset }) => offset >= part.before)
      for (const { raw } of added) largestRecordBytes = Math.max(largestRecordBytes, batchBytesOf(raw))
      const claim = added.findLast((record) => record.claim !== undefined)?.claim
      if (claim !== undefined) part.last = { offset: claim.offset, eventId: claim.eventId }
      await part.writer.add(added.map(({ raw }) => raw))
      onRead(added.length)
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

/** The fate of the topic of a backup that the log does not continue. A restored topic continues it with another id. */
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

/**
 * Takes small files off the end: they are written anew with as many new records, so that their number stays small. The
 * new files end later, so that no name is used again: until the manifest is replaced, the earlier backup stays.
 */
function takeSmallFiles(files: BackupFile[], newRecords: number): BackupFile[] {
  let first = files.length
  for (let records = newRecords; first > 0; first--) {
    const file = files[first - 1] as BackupFile
    if (!file.isSmall || file.records > records) break
    records += file.records
  }
  return files.splice(first)
}

/** The last claim is read again: it shows whether this is the same log. */
function rangeOf({ before, last, end }: { before: Offset; last?: PartitionBackup['last']; end: Offset }): Range {
  return { from: checkpointBefore(last?.offset ?? before), end }
}
