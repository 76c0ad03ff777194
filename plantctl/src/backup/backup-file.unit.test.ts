import { readdirSync } from 'node:fs'
import type { RawRecord } from '@plant-store/shared/event-log/raw-record.ts'
import { FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { createFileWriter, recordsOf } from './backup-file.ts'
import { type BackupFile, type Manifest, readManifest, writeManifest } from './manifest.ts'

const P = 0 as Partition
const MEGABYTE = 1_048_576
const recordAt = (offset: number, megabytes = 1): RawRecord => ({
  ...{ offset: offset as Offset, timestamp: '0', key: null, headers: [] },
  value: Buffer.alloc(megabytes * MEGABYTE, 'x'),
})

it('only a file below the limit is small', async () => {
  const writer = createFileWriter(temporaryFolder(), P, FIRST, async () => {})
  for (let n = 0; n < 65; n++) await writer.add([recordAt(n)])
  const files = await writer.finish(70 as Offset)
  expect(files.map(({ end, isSmall }) => [end, isSmall])).toEqual([
    [64, undefined],
    [70, true],
  ])
})

it('a record of 60 MiB is read among others', async () => {
  const folder = temporaryFolder()
  const writer = createFileWriter(folder, P, FIRST, async () => {})
  const records = [recordAt(0), recordAt(1, 60), recordAt(2)]
  await writer.add(records)
  const [file] = await writer.finish(3 as Offset)
  const read = (await Array.fromAsync(recordsOf(folder, file as BackupFile))).flat()
  expect(read.map(({ value }, n) => value?.equals(records[n]?.value as Buffer))).toEqual([true, true, true])
})

it('a run that another one has replaced gives no file its name', async () => {
  const folder = temporaryFolder()
  const writer = createFileWriter(folder, P, FIRST, () => Promise.reject(new Error('taken over')))
  await writer.add([recordAt(0)])
  await expect(writer.finish(1 as Offset)).rejects.toThrow('taken over')
  await writer.abandon()
  expect(readdirSync(folder)).toEqual([])
})

it('a run that another one has replaced leaves the manifest as it is', async () => {
  const folder = temporaryFolder()
  const manifest: Manifest = {
    ...{ format: 1, takenAt: 'now', topic: 'plants', topicId: null, configuration: {}, largestRecordBytes: 0 },
    ...{ partitions: [{ end: FIRST, files: [] }], groups: [] },
  }
  await writeManifest(folder, manifest)
  const replaced = writeManifest(folder, { ...manifest, takenAt: 'later' }, () =>
    Promise.reject(new Error('taken over')),
  )
  await expect(replaced).rejects.toThrow('taken over')
  await expect(readManifest(folder)).resolves.toEqual(manifest)
  expect(readdirSync(folder)).toEqual(['manifest.json'])
})
