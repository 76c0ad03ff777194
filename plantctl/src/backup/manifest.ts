import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { resultOf } from '@plant-store/shared/runtime/failures.ts'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { OWNER_ONLY, openWholeFile } from '../export/output-file.ts'

const FORMAT = 1
const NAME = 'manifest.json'
const Count = Type.Integer({ minimum: 0 })

/** A file of a backup has the records of a range of one partition. */
const BackupFile = Type.Object({
  name: Type.String({ pattern: String.raw`^\d{4}-\d{15}-\d{15}\.jsonl\.gz$` }),
  from: Type.Unsafe<Offset>(Count),
  /** The offset before which the range ends; the records of a log may have gaps. */
  end: Type.Unsafe<Offset>(Count),
  records: Count,
  sha256: Type.String(),
  /** It is smaller than the limit, so that a later run writes it anew. Earlier releases did not write this field. */
  isSmall: Type.Optional(Type.Boolean()),
})
export type BackupFile = Type.Static<typeof BackupFile>

const PartitionBackup = Type.Object({
  end: Type.Unsafe<Offset>(Count),
  /** The last claim, by which a later backup recognises the log. */
  last: Type.Optional(
    Type.Object({ offset: Type.Unsafe<Offset>(Count), eventId: Type.Unsafe<EventId>(Type.String()) }),
  ),
  files: Type.Array(BackupFile),
})
export type PartitionBackup = Type.Static<typeof PartitionBackup>

const Group = Type.Object({
  groupId: Type.String(),
  offsets: Type.Array(
    Type.Object({
      partition: Type.Unsafe<Partition>(Count),
      next: Type.Unsafe<Offset>(Count),
      metadata: Type.String(),
    }),
  ),
})
export type GroupBackup = Type.Static<typeof Group>

const Manifest = Type.Object({
  format: Type.Literal(FORMAT),
  /** When the ends were read, in ISO 8601. Everything that was acknowledged before is in the backup. */
  takenAt: Type.String(),
  topic: Type.String(),
  /** By it a topic that was recreated is named as such; null if brokers do not report it. */
  topicId: Type.Union([Type.String(), Type.Null()]),
  configuration: Type.Record(Type.String(), Type.String()),
  largestRecordBytes: Count,
  partitions: Type.Array(PartitionBackup, { minItems: 1 }),
  groups: Type.Array(Group),
})

/** The content of a backup, which is complete when its manifest is written. */
export type Manifest = Type.Static<typeof Manifest>

/** A backup cannot be read as it was written. */
export class DamagedBackup extends Error {
  override name = 'DamagedBackup'
  /** A text for each problem. */
  readonly damage: readonly string[]

  constructor(...damage: string[]) {
    super(damage.join('\n'))
    this.damage = damage
  }
}

/** Opens a file that is not complete. Another run that has lost its lock writes to another one. */
export const openPart = (folder: string, name: string) =>
  openWholeFile(join(folder, `${name}.${randomUUID()}.part`), OWNER_ONLY)

/** The manifest of a folder; undefined in a folder without one. Throws a DamagedBackup when it is not a manifest. */
export async function readManifest(folder: string): Promise<Manifest | undefined> {
  const file = join(folder, NAME)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  const manifest: unknown = resultOf(() => JSON.parse(text))
  if (!Value.Check(Manifest, manifest)) {
    throw new DamagedBackup(`${file} is damaged, or of a newer release: restore it from a copy, or use that release`)
  }
  return manifest
}

/** Replaces the manifest, unless `assertHeld` rejects. The files that it names have to be written before. */
export async function writeManifest(
  folder: string,
  manifest: Manifest,
  assertHeld?: () => Promise<void>,
): Promise<void> {
  await using file = await openPart(folder, NAME)
  await file.write(`${JSON.stringify(manifest, undefined, 1)}\n`)
  await file.finish(join(folder, NAME), assertHeld)
}

export const recordsIn = ({ partitions }: Manifest): number =>
  partitions.flatMap(({ files }) => files).reduce((sum, { records }) => sum + records, 0)
