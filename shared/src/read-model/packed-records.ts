import type { LogRecord } from '../plant/plant-created.ts'
import { maxEntryBytes, writeEntry } from './entry.ts'

// The records that a script applies, one after another in one argument: ioredis pays for each argument, and copies each
// Buffer among them on its own. As three arguments a record they took 4 µs a record, as one less than 1.
//   byte  1        length of the id, 0 when the record claims none
//   bytes 2 and 3  length of the entry, big-endian
//   byte  4        length of what is parked, 0 when it is not
//   then the id in decimal, the entry (entry.ts), and of a parked record '<offset>:<reason>'
const LENGTHS_BYTES = 4
/** The longest int64 in decimal, with its sign. */
const MAX_ID_BYTES = 20
/** 2^48 - 1 in decimal, a colon, a reason of at most three digits. */
const MAX_PARKED_BYTES = 19

/** Packs records for the one argument of apply.lua that holds them. */
export function packRecords(records: readonly LogRecord[]): Buffer {
  const packed = Buffer.allocUnsafe(records.reduce((bytes, record) => bytes + maxBytesOf(record), 0))
  let end = 0
  for (const record of records) end = writeRecord(record, packed, end)
  return packed.subarray(0, end)
}

function maxBytesOf({ claim, parked }: LogRecord): number {
  const claimed = claim === undefined ? 0 : MAX_ID_BYTES + maxEntryBytes(claim)
  return LENGTHS_BYTES + claimed + (parked === undefined ? 0 : MAX_PARKED_BYTES)
}

/** Returns where what it wrote ends. */
function writeRecord({ offset, claim, parked }: LogRecord, packed: Buffer, at: number): number {
  const idAt = at + LENGTHS_BYTES
  const entryAt = claim === undefined ? idAt : idAt + packed.write(String(claim.id), idAt)
  const parkedAt = claim === undefined ? entryAt : writeEntry(claim, packed, entryAt)
  const end = parked === undefined ? parkedAt : parkedAt + packed.write(`${offset}:${parked}`, parkedAt)
  packed[at] = entryAt - idAt
  packed.writeUInt16BE(parkedAt - entryAt, at + 1)
  packed[at + 3] = end - parkedAt
  return end
}
