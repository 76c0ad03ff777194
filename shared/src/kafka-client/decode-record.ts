import type { ByteReader } from './byte-reader.ts'

type Content = Buffer | null

/** What the batch of a record tells. Numbers of 64 bits are decimal, as kafkajs has them. */
export type BatchContext = {
  firstOffset: string
  firstTimestamp: string
  partitionLeaderEpoch: number
  inTransaction: boolean
  isControlBatch: boolean
  lastOffsetDelta: number
  producerId: string
  producerEpoch: number
  firstSequence: number
  maxTimestamp: string
  timestampType: number
  magicByte: number
}

export type DecodedRecord = {
  magicByte: number
  attributes: number
  timestamp: string
  offset: string
  key: Content
  value: Content
  /** A header that comes several times is a list. */
  headers: Record<string, Content | Content[]>
  isControlRecord: boolean
  batchContext: BatchContext
}

/** The text of a number that is so far from the batch's first one. */
export type Sum = (delta: number | bigint) => string

/** The names of the first headers of the record before: those of the next one are most often the same. */
export type LatestNames = { text: string; bytes: Buffer }[]

const MAX_LATEST_NAMES = 16
const MAX_LATEST_NAME_LENGTH = 64

/**
 * Decodes a record of a batch. The one in kafkajs 2.2.4 copies all earlier headers of a record for each further one, so
 * that one record of many headers, which anybody may write, stops every reader for hours; and it takes what an object
 * inherits (`constructor`) for an earlier header of that name.
 */
export function decodeRecord(
  reader: ByteReader,
  batchContext: BatchContext,
  offset: Sum,
  timestamp: Sum,
  names: LatestNames,
): DecodedRecord {
  // Read in the order in which they are written here.
  return {
    magicByte: batchContext.magicByte,
    attributes: reader.int8(),
    timestamp: timestamp(reader.varLong()),
    offset: offset(reader.varInt()),
    key: reader.varIntBytes(),
    value: reader.varIntBytes(),
    headers: readHeaders(reader, names),
    isControlRecord: batchContext.isControlBatch,
    batchContext,
  }
}

function readHeaders(reader: ByteReader, names: LatestNames): DecodedRecord['headers'] {
  const headers: DecodedRecord['headers'] = {}
  const count = reader.varInt()
  for (let n = 0; n < count; n++) {
    const name = readName(reader, n, names)
    const value = reader.varIntBytes()
    if (!Object.hasOwn(headers, name)) add(headers, name, value)
    else {
      const earlier = headers[name] as Content | Content[]
      if (Array.isArray(earlier)) earlier.push(value)
      else add(headers, name, [earlier, value])
    }
  }
  return headers
}

/** The name that the record before had is known by its bytes, and not made anew. */
function readName(reader: ByteReader, n: number, names: LatestNames): string {
  const known = names[n]
  if (known !== undefined && reader.passIf(known.bytes)) return known.text
  const text = reader.varIntString()
  if (n < MAX_LATEST_NAMES && text.length <= MAX_LATEST_NAME_LENGTH)
    names[n] = { text, bytes: Buffer.from(text) }
  return text
}

function add(headers: DecodedRecord['headers'], name: string, value: Content | Content[]): void {
  // By assignment `__proto__` would be more than a name.
  if (name !== '__proto__') headers[name] = value
  else Object.defineProperty(headers, name, { value, enumerable: true, writable: true, configurable: true })
}
