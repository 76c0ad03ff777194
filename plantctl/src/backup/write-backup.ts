import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readOffsetsOfAllGroups } from '@plant-store/shared/event-log/groups.ts'
import { rawRecordOf } from '@plant-store/shared/event-log/raw-record.ts'
import { replay } from '@plant-store/shared/event-log/replay.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { readConfiguration } from '@plant-store/shared/event-log/topic-configuration.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { type LogOfStore, retryForSeconds } from '../store/open-store.ts'
import type { Progress } from '../terminal/progress.ts'
import { addToBackup, type BackedUpLog, type RecordToBackUp } from './add-to-backup.ts'
import { createFileWriter, recordsOf } from './backup-file.ts'
import { lockFolder } from './folder-lock.ts'
import { type BackupFile, type Manifest, readManifest, recordsIn, writeManifest } from './manifest.ts'

/** The names of all files that a backup writes, except its manifest and lock. */
const OWN_NAME = /^(?:(\d{4})-\d{15}-(\d{15})\.jsonl\.gz|(?:\d{4}-\d{15}|manifest\.json)\.[0-9a-f-]{36}\.part)$/

/**
 * Adds to the backup in a folder what the log has more than it. The backup changes when its manifest is replaced, last;
 * until then it stays as it was. Resolves with the manifest, and the number of added records. Throws when the folder
 * has the backup of another log, or another process writes to it.
 */
export async function writeBackup(
  log: LogOfStore,
  folder: string,
  { signal, ...progress }: Progress & { signal: AbortSignal },
) {
  const lock = await lockFolder(folder)
  try {
    const before = await readManifest(folder)
    // They may be why the run before had no room.
    await removeOthers(folder, before)
    const files = {
      recordsOf: (file: BackupFile) => recordsOf(folder, file),
      writer: (partition: Partition, from: Offset) => createFileWriter(folder, partition, from, lock.assertHeld),
    }
    const manifest = await addToBackup(backedUpLog(log, signal), files, before, progress)
    if (before === undefined) await assertNoLater(folder, manifest)
    await writeManifest(folder, manifest, lock.assertHeld)
    await lock.assertHeld()
    await removeOthers(folder, manifest)
    return { manifest, added: recordsIn(manifest) - (before === undefined ? 0 : recordsIn(before)) }
  } finally {
    await lock.release()
  }
}

/** Throws when a file ends after the log: the folder has the backup of another log and has lost its manifest. */
async function assertNoLater(folder: string, { partitions }: Manifest): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, partition, last] = OWN_NAME.exec(name) ?? []
    if (last === undefined || Number(last) < (partitions[Number(partition)]?.end ?? 0)) continue
    throw new PreconditionError(
      `${folder} has lost its manifest.json, and this log does not have all of ${name}: restore manifest.json from a copy, ` +
        'or back this log up into another folder',
    )
  }
}

function backedUpLog({ kafka, topic, partitions, log }: LogOfStore, signal: AbortSignal): BackedUpLog {
  const read = recordReader(partitions)
  // A broker that has just started still loads the offsets of groups.
  const patiently = <T>(request: () => Promise<T>) => retryForSeconds(request, topic)
  return {
    ...{ topic, warn: log.warn },
    readGroups: () => patiently(() => readOffsetsOfAllGroups(kafka, topic)),
    readConfiguration: () => patiently(() => readConfiguration(kafka, topic)),
    readTopic: () => patiently(() => checkTopic(kafka, { topic, partitions })),
    read: (ranges, onRecords) =>
      replay<RecordToBackUp>({
        ...{ kafka, topic, partitions, log, ranges, signal, time: systemTime, onRecords },
        read: (record, partition, decoded) => ({ ...read(record, partition), raw: rawRecordOf(decoded) }),
      }),
  }
}

/**
 * Deletes what earlier backups have left behind: files that are not complete, or that the manifest does not name. A
 * folder without a manifest may have lost it, so its complete files stay.
 */
async function removeOthers(folder: string, manifest: Manifest | undefined): Promise<void> {
  const named = new Set(manifest?.partitions.flatMap(({ files }) => files.map(({ name }) => name)))
  for (const name of await readdir(folder)) {
    const isLeft = manifest === undefined ? name.endsWith('.part') : !named.has(name)
    if (OWN_NAME.test(name) && isLeft) await rm(join(folder, name))
  }
}
