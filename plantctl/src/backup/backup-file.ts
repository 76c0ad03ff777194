import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { promisify } from 'node:util'
import { createGunzip, gzip } from 'node:zlib'
import type { RawRecord } from '@plant-store/shared/event-log/raw-record.ts'
import { after, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { type BackupFile, DamagedBackup, openPart } from './manifest.ts'
import { lineOf, recordOf } from './record-line.ts'

/** Before compression. */
const FILE_BYTES = 64 * 1_048_576
/** Compressed together; a file is a sequence of such members, which every gunzip reads as one. */
const MEMBER_BYTES = 256 * 1_024
const LINE_END = '\n'.charCodeAt(0)

/**
 * Writes the records of one partition, from an offset on, into files of a limited size. No file gets its name if
 * `assertHeld` rejects: another run may have written one with this name.
 */
export function createFileWriter(folder: string, partition: Partition, from: Offset, assertHeld: () => Promise<void>) {
  const files: BackupFile[] = []
  let start = from
  let next = from
  let open: Awaited<ReturnType<typeof openFile>> | undefined

  async function openFile() {
    const file = await openPart(folder, nameOf(partition, start))
    return { file, hash: createHash('sha256'), records: 0, bytes: 0, pending: '' }
  }

  async function compressPending(): Promise<void> {
    if (open === undefined || open.pending === '') return
    const bytes = await promisify(gzip)(open.pending)
    open.pending = ''
    open.hash.update(bytes)
    await open.file.write(bytes)
  }

  async function closeFile(end: Offset): Promise<void> {
    if (open === undefined) return
    await compressPending()
    const { file, hash, records, bytes } = open
    const name = `${nameOf(partition, start)}-${offsetText(end - 1)}.jsonl.gz`
    await file.finish(join(folder, name), assertHeld)
    const isSmall = bytes < FILE_BYTES
    files.push({ name, from: start, end, records, sha256: hash.digest('hex'), ...(isSmall && { isSmall }) })
    open = undefined
    start = end
  }

  return {
    async add(records: readonly RawRecord[]): Promise<void> {
      for (const record of records) {
        if (record.offset < next) throw new Error(`partition ${partition}: offset ${record.offset} follows ${next - 1}`)
        next = after(record.offset)
        open ??= await openFile()
        const line = lineOf(record)
        open.pending += line
        open.bytes += line.length
        open.records++
        if (open.pending.length >= MEMBER_BYTES) await compressPending()
        if (open.bytes >= FILE_BYTES) await closeFile(after(record.offset))
      }
    },

    /** Closes the last file, whose range ends before `end`. Resolves with all files; none without records. */
    async finish(end: Offset): Promise<BackupFile[]> {
      await closeFile(end)
      return files
    },

    /** Deletes the file that is not complete. */
    async abandon(): Promise<void> {
      await open?.file[Symbol.asyncDispose]()
    },
  }
}

const PARTITION_DIGITS = 4
const OFFSET_DIGITS = 15
const offsetText = (offset: number) => String(offset).padStart(OFFSET_DIGITS, '0')
const nameOf = (partition: Partition, from: Offset) =>
  `${String(partition).padStart(PARTITION_DIGITS, '0')}-${offsetText(from)}`

/** In batches. Throws a DamagedBackup for a file that is not as written, before its first record. */
export async function* recordsOf(folder: string, file: BackupFile): AsyncGenerator<RawRecord[]> {
  let count = 0
  let next = file.from
  await assertAsWritten(folder, file)
  for await (const lines of linesOf(join(folder, file.name))) {
    const records = lines.map(recordOf)
    for (const { offset } of records) {
      if (offset < next || offset >= file.end) throw damaged(file, `has offset ${offset}`)
      next = after(offset)
    }
    count += records.length
    yield records
  }
  if (count !== file.records) throw damaged(file, `has ${count} records instead of ${file.records}`)
}

/** The lines of compressed text, without their ends. Only a piece of the file is in memory: many files may be open. */
async function* linesOf(path: string): AsyncGenerator<string[]> {
  // The reader of `decompressed` gets all errors.
  const decompressed = pipeline(createReadStream(path), createGunzip(), () => {})
  // Joined at the end of a line only: to join a long line with each chunk would take hours.
  const pieces: Buffer[] = []
  for await (const chunk of decompressed as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf(LINE_END)
    if (end >= 0)
      yield Buffer.concat([...pieces.splice(0), chunk.subarray(0, end)])
        .toString()
        .split('\n')
    pieces.push(chunk.subarray(end + 1))
  }
}

/** Throws a DamagedBackup unless the file has the bytes that were written. */
export async function assertAsWritten(folder: string, file: BackupFile): Promise<void> {
  const hash = createHash('sha256')
  try {
    for await (const bytes of createReadStream(join(folder, file.name))) hash.update(bytes)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? damaged(file, 'is missing') : error
  }
  if (hash.digest('hex') !== file.sha256) throw damaged(file, 'has another SHA-256')
}

const damaged = ({ name }: BackupFile, what: string) =>
  new DamagedBackup(`${name} ${what}: the backup is damaged, restore this file from a copy of the backup`)
