import { type RawRecord, storedRecordOf } from '@plant-store/shared/event-log/raw-record.ts'
import { recordReader } from '@plant-store/shared/plant/plant-created.ts'
import { FIRST, type Partition } from '@plant-store/shared/plant/position.ts'
import { readPlantsOfLog } from '../export/plants-of-log.ts'
import { createExport } from '../export/write-export.ts'
import type { Progress } from '../terminal/progress.ts'
import type { ReadLog } from '../verify/slice.ts'
import { assertAsWritten, recordsOf } from './backup-file.ts'
import { DamagedBackup, type Manifest, readManifest } from './manifest.ts'

/** A check that a later backup overtakes starts again. */
const ATTEMPTS_MAX = 5

/** A later backup has merged files while they were read. */
class Overtaken extends Error {
  override name = 'Overtaken'
}

/**
 * Checks a whole backup, and folds its records into plants, as an export of the log does. Resolves with its manifest and
 * the summary of that export. Throws a DamagedBackup that names all damaged files.
 */
export async function checkBackup(folder: string, progress: Progress) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await checkOnce(folder, progress)
    } catch (error) {
      if (!(error instanceof Overtaken) || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

async function checkOnce(folder: string, { onStart, onRead }: Progress) {
  const manifest = await readManifest(folder)
  if (manifest === undefined) {
    throw new Error(`${folder} has no manifest.json, so no complete backup: name the folder of "plantctl backup --to"`)
  }
  const damage = await findDamage(folder, manifest)
  if (damage.length > 0) await rethrow(folder, manifest, new DamagedBackup(...damage))
  const ends = manifest.partitions.map(({ end }) => end)
  const { add, finish } = createExport(async () => {})
  await readPlantsOfLog({ read: backupReader(folder, manifest, onRead), ends, onPlants: add, onStart })
  return { manifest, summary: await finish(manifest.topic, ends) }
}

async function findDamage(folder: string, { partitions }: Manifest): Promise<string[]> {
  const damage: string[] = []
  for (const [partition, { files, end }] of partitions.entries()) {
    let next = FIRST
    for (const file of files) {
      if (file.from !== next) damage.push(`partition ${partition}: no file has the offsets from ${next} on`)
      next = file.end
      try {
        await assertAsWritten(folder, file)
      } catch (error) {
        if (!(error instanceof DamagedBackup)) throw error
        damage.push(error.message)
      }
    }
    if (next > end) damage.push(`partition ${partition}: a file ends at ${next}, after the partition`)
  }
  return damage
}

/** Reads ranges of a backup, as `replay` reads the log. */
function backupReader(folder: string, manifest: Manifest, onRead: (records: number) => void): ReadLog {
  const read = recordReader(manifest.partitions.length)
  return async (ranges, onRecords) => {
    for (const [partition, { from, end }] of ranges) {
      for await (const batch of recordsOfPartition(folder, manifest, partition)) {
        const records = batch.filter(({ offset }) => offset > from.offset && offset < end)
        await onRecords(
          partition,
          records.map((record) => read(storedRecordOf(record), partition)),
        )
        onRead(records.length)
      }
    }
  }
}

/** The records of a partition in their order, in batches. Throws an Overtaken when a later backup has merged its files. */
export async function* recordsOfPartition(
  folder: string,
  manifest: Manifest,
  partition: Partition,
): AsyncGenerator<RawRecord[]> {
  try {
    for (const file of manifest.partitions[partition]?.files ?? []) yield* recordsOf(folder, file)
  } catch (error) {
    await rethrow(folder, manifest, error)
  }
}

/** Throws an error of reading the files, or if the folder has another manifest by now, an Overtaken. */
async function rethrow(folder: string, { takenAt }: Manifest, error: unknown): Promise<never> {
  if ((await readManifest(folder))?.takenAt === takenAt) throw error
  throw new Overtaken(`a later backup has changed ${folder} meanwhile: run this again`, { cause: error })
}
