import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { RawRecord } from '@plant-store/shared/event-log/raw-record.ts'
import { allPartitions, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { createFileWriter, recordsOf } from './backup-file.ts'
import { type BackupFile, type Manifest, readManifest, writeManifest } from './manifest.ts'

const MEGABYTE = 1_048_576
const recordOf = (offset: number, value: Buffer): RawRecord => ({
  ...{ offset: offset as Offset, timestamp: '0', key: null, headers: [], value },
})
const openWriter = (folder: string, partition = 0, assertHeld = async () => {}) =>
  createFileWriter(folder, partition as Partition, FIRST, assertHeld)

it('only a file below the limit is small, and a record of 60 MiB is read among others', async () => {
  const folder = temporaryFolder()
  const writer = openWriter(folder)
  const records = [1, 60, 1, 1, 1, 1].map((size, n) => recordOf(n, Buffer.alloc(size * MEGABYTE, 'x')))
  for (const record of records) await writer.add([record])
  const files = await writer.finish(70 as Offset)
  expect(files.map(({ end, isSmall }) => [end, isSmall])).toEqual([
    [5, undefined],
    [70, true],
  ])
  const read = (await Array.fromAsync(recordsOf(folder, files[0] as BackupFile))).flat()
  expect(read.map(({ value }, n) => value?.equals(records[n]?.value as Buffer))).toEqual(Array(5).fill(true))
})

it('a run that another one has replaced gives no file its name, and leaves the manifest as it is', async () => {
  const folder = temporaryFolder()
  const manifest: Manifest = {
    ...{ format: 1, takenAt: 'now', topic: 'plants', topicId: null, configuration: {}, largestRecordBytes: 0 },
    ...{ partitions: [{ end: FIRST, files: [] }], groups: [] },
  }
  await writeManifest(folder, manifest)
  const replaced = () => Promise.reject(new Error('taken over'))
  await expect(writeManifest(folder, { ...manifest, takenAt: 'later' }, replaced)).rejects.toThrow('taken over')
  const writer = openWriter(folder, 0, replaced)
  await writer.add([recordOf(0, Buffer.from('x'))])
  await expect(writer.finish(1 as Offset)).rejects.toThrow('taken over')
  await writer.abandon()
  await expect(readManifest(folder)).resolves.toEqual(manifest)
  expect(readdirSync(folder)).toEqual(['manifest.json'])
})

it('only a piece of each open file is in memory', async () => {
  const [files, records, valueBytes] = [32, 128, 8_192]
  const folder = temporaryFolder()
  const opened: ReturnType<typeof recordsOf>[] = []
  for (const partition of allPartitions(files)) {
    const writer = openWriter(folder, partition)
    for (let offset = 0; offset < records; offset++) await writer.add([recordOf(offset, randomBytes(valueBytes))])
    for (const file of await writer.finish(records as Offset)) opened.push(recordsOf(folder, file))
  }
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const before = process.memoryUsage().arrayBuffers
  for (const reading of opened) await reading.next()
  // The buffers of what was read before may be freed in the background.
  await eventually(() => {
    collectGarbage()
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan((files * records * valueBytes) / 2)
  })
  for (const reading of opened) await reading.return(undefined)
})
