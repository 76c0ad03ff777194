import { type ByteReader, createByteReader } from './byte-codec.ts'
import { CODECS, MAX_BATCH_BYTES } from './decompress.ts'

type Content = Buffer | null

type Headers = Record<string, Content | Content[]>

type BatchContext = ReturnType<typeof contextOf>
export type DecodedRecord = ReturnType<typeof readRecord>

/** A batch that cannot be decoded; `offset` is its first one. */
export type UndecodableBatch = { offset: string; codec: string; cause: unknown }

/** The part of kafkajs's Decoder that is used here. */
type Decoder = {
  readInt32(): number
  canReadBytes(length: number): boolean
  readBytes(length: number): Buffer
}

export const UNKNOWN_CODEC = 'unknown codec'

/** As a record: kafkajs passes it on to the reader of its partition, and to no other one. */
type Undecodable = Partial<DecodedRecord> & { undecodable: UndecodableBatch }
/** kafkajs drops records from before the offset that it has requested. */
const AFTER_ALL_OFFSETS = String(2n ** 63n - 1n)

// Offsets of the fields of a record batch.
const LENGTH_AT = 8
const MAGIC_AT = 16
const FIRST_OFFSET_AT = 0
const ATTRIBUTES_AT = 21
const LAST_OFFSET_DELTA_AT = 23
const FIRST_TIME_AT = 27
const LAST_TIME_AT = 35
const PRODUCER_ID_AT = 43
const COUNT_AT = 57
const RECORDS_AT = 61
/** The length field counts the bytes from here on. */
const COUNTED_FROM = 12

const MAGIC = 2
const LOG_APPEND_TIME_BIT = 0x08
const TRANSACTIONAL_BIT = 0x10
const CONTROL_BIT = 0x20
const CODEC_BITS = 0x07

/**
 * Decodes the bytes that a fetch returns of a partition, up to the first batch that cannot be decoded. If that is the
 * first one, an Undecodable is all that it returns: kafkajs fetches all partitions of a leader together, and an error
 * would stop each of them. The decoder of kafkajs 2.2.4 passes each record of a batch as an argument of one call: a
 * batch of some 120,000 records, which any producer may write, overflows the stack.
 */
export async function decodeRecords(bytes: Buffer): Promise<DecodedRecord[]> {
  const records: DecodedRecord[] = []
  let at = 0
  let decodedBytes = 0
  let emptyUpTo: string | undefined
  try {
    // The next fetch returns the rest: many small batches may hold very much.
    while (bytes.length - at >= COUNTED_FROM && decodedBytes < MAX_BATCH_BYTES) {
      // In a damaged batch the length may be negative.
      const end = at + Math.max(0, COUNTED_FROM + bytes.readInt32BE(at + LENGTH_AT))
      // A fetch ends at its byte limit, which is most often within a batch.
      if (end > bytes.length) break
      const decoded = await decodeBatch(bytes.subarray(at, end))
      for (const record of decoded) records.push(record)
      if (end - at === RECORDS_AT) emptyUpTo = lastOffsetOf(bytes.subarray(at, end))
      decodedBytes += decoded[0]?.batchContext.records.length ?? 0
      at = end
    }
  } catch (cause) {
    if (records.length === 0) return [undecodable({ ...headOf(bytes.subarray(at)), cause })]
  }
  return records.length > 0 || emptyUpTo === undefined ? records : [nothingUpTo(emptyUpTo)]
}

const lastOffsetOf = (batch: Buffer): string =>
  String(batch.readBigInt64BE(FIRST_OFFSET_AT) + BigInt(batch.readInt32BE(LAST_OFFSET_DELTA_AT)))

/**
 * Stands for batches without records: Kafka keeps the last one of an idempotent producer when it compacts it. kafkajs
 * passes no control record on, but the last offset of the fetch.
 */
function nothingUpTo(offset: string): DecodedRecord {
  const marker: Partial<DecodedRecord> = { offset, key: null, value: null, headers: {}, isControlRecord: true }
  return marker as DecodedRecord
}

function headOf(batch: Buffer): { offset: string; codec: string } {
  const codec = CODECS[batch.length > RECORDS_AT ? codecOf(batch) : 0]?.name ?? UNKNOWN_CODEC
  return { offset: batch.readBigInt64BE(FIRST_OFFSET_AT).toString(), codec }
}

export function undecodable(batch: UndecodableBatch): DecodedRecord {
  const none = { offset: AFTER_ALL_OFFSETS, key: null, value: null, headers: {} }
  const instead: Undecodable = { ...none, undecodable: batch }
  return instead as DecodedRecord
}

const codecOf = (batch: Buffer) => batch.readInt16BE(ATTRIBUTES_AT) & CODEC_BITS

/** The batch that a fetch of a partition has come to, if it cannot be decoded. */
export const undecodableIn = ([first]: readonly object[]): UndecodableBatch | undefined =>
  (first as Partial<Undecodable> | undefined)?.undecodable

/** The same for responses up to version 11, where the length comes before the records. */
export async function decodeSizedRecords(response: Decoder): Promise<DecodedRecord[]> {
  const length = response.readInt32()
  return length <= 0 || !response.canReadBytes(length) ? [] : decodeRecords(response.readBytes(length))
}

/**
 * Decodes a complete record batch. The decoder of kafkajs 2.2.4 makes a Decoder for each record and bigints for each
 * offset and timestamp: 2.9 µs an event with five headers, where this takes 1.1. Throws a RangeError where lengths
 * contradict each other. Kafka lets such a batch through when its compression is the topic's; to read on would make up
 * records, and different ones in each reader. The checksum is not verified, as in kafkajs.
 */
async function decodeBatch(batch: Buffer): Promise<DecodedRecord[]> {
  if (batch.length < RECORDS_AT) throw new RangeError(`a record batch has only ${batch.length} bytes`)
  const magic = batch[MAGIC_AT]
  if (magic !== MAGIC) throw new RangeError(`a record batch has the format ${magic}`)
  const count = batch.readInt32BE(COUNT_AT)
  const codec = CODECS[codecOf(batch)]
  if (codec === undefined) throw new RangeError(`a record batch has the codec ${codecOf(batch)}`)
  const records = batch.subarray(RECORDS_AT)
  const bytes = count <= 0 ? records : await codec.decompress(records)
  return readRecords(batch, bytes, count)
}

/** The parts of a batch that its records need later. */
function contextOf(batch: Buffer, records: Buffer) {
  const attributes = batch.readInt16BE(ATTRIBUTES_AT)
  return {
    /** A decimal, as all 64-bit numbers in kafkajs. */
    producerId: String(batch.readBigInt64BE(PRODUCER_ID_AT)),
    inTransaction: (attributes & TRANSACTIONAL_BIT) !== 0,
    isControlBatch: (attributes & CONTROL_BIT) !== 0,
    /** Not compressed. */
    records,
  }
}

/** The key of a control record: a version and a type, two bytes each (Kafka's ControlRecordType). */
const [TYPE_AT, TYPE_BYTES] = [2, 2]

function readRecords(batch: Buffer, bytes: Buffer, count: number): DecodedRecord[] {
  const reader = createByteReader(bytes)
  const context = contextOf(batch, bytes)
  const offset = sumWith(batch.readBigInt64BE(FIRST_OFFSET_AT))
  const isAppendTime = (batch.readInt16BE(ATTRIBUTES_AT) & LOG_APPEND_TIME_BIT) !== 0
  const appendTime = String(batch.readBigInt64BE(LAST_TIME_AT))
  const time = isAppendTime ? () => appendTime : sumWith(batch.readBigInt64BE(FIRST_TIME_AT))
  const records: DecodedRecord[] = []
  for (let n = 0; n < count; n++) {
    const end = reader.varInt() + reader.position()
    const record = readRecord(reader, context, offset, time)
    if (reader.position() !== end) throw new RangeError(`record ${n} of a batch does not end at its length`)
    if (context.isControlBatch && (record.key ?? '').length < TYPE_AT + TYPE_BYTES)
      throw new RangeError(`control record ${n} of a batch has no type`)
    records.push(record)
  }
  return records
}

/** Adds a delta to the first offset or timestamp of a batch; the sum is decimal. */
type Sum = (delta: number | bigint) => string

/** Offsets and timestamps may have 64 bits, but no bigint is made where a number is exact. */
function sumWith(first: bigint): Sum {
  const number = Number(first)
  const exact = Number.isSafeInteger(number) ? number : Number.NaN
  return (delta) => {
    const sum = exact + Number(delta)
    return typeof delta === 'number' && Number.isSafeInteger(sum) ? String(sum) : String(first + BigInt(delta))
  }
}

/** The first header names of the previous record: the next record most often has the same. */
const headerNames: { text: string; bytes: Buffer }[] = []

const MAX_CACHED_NAMES = 16
const MAX_CACHED_NAME_LENGTH = 64

/**
 * The decoder of kafkajs 2.2.4 copies all earlier headers of a record for each further one, so one record with very
 * many headers, which any producer may write, stops every reader for hours. It also takes an inherited property
 * (`constructor`) for an earlier header of that name.
 */
function readRecord(reader: ByteReader, batchContext: BatchContext, offset: Sum, timestamp: Sum) {
  // Its attributes, which have no meaning yet. The properties are evaluated, and so read, in their order.
  reader.int8()
  return {
    timestamp: timestamp(reader.varLong()),
    offset: offset(reader.varInt()),
    key: reader.varIntBytes(),
    value: reader.varIntBytes(),
    /** The place of the headers in the records of the batch. */
    headersAt: reader.position(),
    headers: readHeaders(reader),
    isControlRecord: batchContext.isControlBatch,
    batchContext,
  }
}

function readHeaders(reader: ByteReader): Headers {
  const headers: Headers = {}
  const count = reader.varInt()
  for (let n = 0; n < count; n++) addHeader(headers, readName(reader, n), reader.varIntBytes())
  return headers
}

function addHeader(headers: Headers, name: string, value: Content): void {
  const earlier = Object.hasOwn(headers, name) ? headers[name] : undefined
  if (earlier === undefined) setHeader(headers, name, value)
  else if (Array.isArray(earlier)) earlier.push(value)
  else setHeader(headers, name, [earlier, value])
}

/** Compares the bytes with the name at the same place of the previous record; no string is made when they are equal. */
function readName(reader: ByteReader, n: number): string {
  const cached = headerNames[n]
  if (cached !== undefined && reader.skipIf(cached.bytes)) return cached.text
  const text = reader.varIntString()
  if (n < MAX_CACHED_NAMES && text.length <= MAX_CACHED_NAME_LENGTH) headerNames[n] = { text, bytes: Buffer.from(text) }
  return text
}

function setHeader(headers: Headers, name: string, value: Content | Content[]): void {
  // An assignment to `__proto__` would set the prototype.
  if (name !== '__proto__') headers[name] = value
  else Object.defineProperty(headers, name, { value, enumerable: true, writable: true, configurable: true })
}

export type HeaderList = [name: Buffer, value: Content][]

/** With order, repetitions and names that are not UTF-8. */
export function headerListOf({
  batchContext,
  headersAt,
}: Pick<DecodedRecord, 'batchContext' | 'headersAt'>): HeaderList {
  const reader = createByteReader(batchContext.records.subarray(headersAt))
  return Array.from({ length: reader.varInt() }, () => [reader.bytes(reader.varInt()), reader.varIntBytes()])
}

/** The headers by name, as they are decoded. */
export function headersOf(list: Readonly<HeaderList>): Headers {
  const headers: Headers = {}
  for (const [name, value] of list) addHeader(headers, name.toString(), value)
  return headers
}

type Batch = { rawMessages: readonly object[] }

/**
 * kafkajs passes no fetch on that has only control, aborted or compacted records. Here it is one like any other, without
 * messages.
 */
export function batchesWithoutRecords(Original: new (...options: unknown[]) => Batch) {
  return class extends Original {
    isEmpty(): boolean {
      return this.rawMessages.length === 0
    }

    isEmptyDueToFiltering(): boolean {
      return false
    }
  }
}

/** A record as kafkajs decodes it, before it drops control records. */
export type FetchedMessage = {
  offset: string
  key: Buffer | null
  isControlRecord?: boolean
  /** Absent in what stands for a batch. */
  batchContext?: { producerId: string; inTransaction: boolean }
}

export type AbortedTransaction = { producerId: string; firstOffset: string }

const ABORT = 0

/**
 * Drops the records of aborted transactions as the Java client does: a producer's records from the first offset of its
 * aborted transaction to its abort marker. The filter of kafkajs 2.2.4 takes the transactions in the order they come,
 * at most one a record, and takes any record with a key of four zero bytes for a marker. So it lets aborted records
 * through where transactions overlap, and two readers that start at different offsets may see different logs.
 */
export function keepCommitted<M extends FetchedMessage>({
  messages,
  abortedTransactions,
}: {
  messages: M[]
  abortedTransactions?: AbortedTransaction[] | null
}): M[] {
  if (!abortedTransactions || abortedTransactions.length === 0) return messages
  const upcoming = abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: BigInt(firstOffset) }))
    .sort((a, b) => Number(a.firstOffset - b.firstOffset))
  const abortingProducers = new Set<string>()
  return messages.filter(({ offset, key, isControlRecord, batchContext }) => {
    if (batchContext === undefined) return true
    const { producerId, inTransaction } = batchContext
    for (let [first] = upcoming; first !== undefined && first.firstOffset <= BigInt(offset); [first] = upcoming) {
      abortingProducers.add(first.producerId)
      upcoming.shift()
    }
    if (!isControlRecord) return !(inTransaction && abortingProducers.has(producerId))
    if (key?.readInt16BE(TYPE_AT) === ABORT) abortingProducers.delete(producerId)
    return true
  })
}
