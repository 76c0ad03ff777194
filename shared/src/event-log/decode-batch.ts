import { createByteReader } from './byte-reader.ts'
import {
  type BatchContext,
  type DecodedRecord,
  decodeRecord,
  type LatestNames,
  type Sum,
} from './decode-record.ts'

/** What is used here of kafkajs: the Decoder that a fetch is read with, its codecs, and its error for a batch that is cut. */
type FetchDecoder = { buffer: Buffer; offset: number }
type LookUpCodec = (attributes: number) => { decompress(records: Buffer): Promise<Buffer> } | null
type PartialMessageError = new (message: string) => Error

export type DecodedBatch = Omit<BatchContext, 'magicByte'> & { records: DecodedRecord[] }

// Where the fields of a record batch are.
const LENGTH_AT = 8
const LEADER_EPOCH_AT = 12
const MAGIC_AT = 16
const ATTRIBUTES_AT = 21
const LAST_OFFSET_DELTA_AT = 23
const FIRST_TIME_AT = 27
const LAST_TIME_AT = 35
const PRODUCER_ID_AT = 43
const PRODUCER_EPOCH_AT = 51
const FIRST_SEQUENCE_AT = 53
const COUNT_AT = 57
const RECORDS_AT = 61

const CREATE_TIME = 0
const LOG_APPEND_TIME = 1
const LOG_APPEND_TIME_BIT = 0x08
const TRANSACTIONAL_BIT = 0x10
const CONTROL_BIT = 0x20

/**
 * Decodes a record batch of a fetch. The one in kafkajs 2.2.4 makes a decoder for each record and big integers for each
 * offset and time: 2.9 µs an event of five headers, where this takes 1.1.
 */
export function batchDecoder(lookUpCodec: LookUpCodec, PartialMessage: PartialMessageError) {
  const names: LatestNames = []
  return async (fetched: FetchDecoder): Promise<DecodedBatch> => {
    const { buffer, offset: at } = fetched
    const length = buffer.readInt32BE(at + LENGTH_AT)
    const end = at + LEADER_EPOCH_AT + length
    // As with kafkajs, also when it is cut.
    fetched.offset = end
    if (end > buffer.length)
      throw new PartialMessage(
        `a record batch of ${length} bytes is cut: ${buffer.length - at - LEADER_EPOCH_AT} were fetched`,
      )
    const context = contextOf(buffer, at)
    const count = buffer.readInt32BE(at + COUNT_AT)
    const codec = lookUpCodec(buffer.readInt16BE(at + ATTRIBUTES_AT))
    const records = buffer.subarray(at + RECORDS_AT, end)
    const bytes = codec === null || count <= 0 ? records : await codec.decompress(records)
    const { magicByte: _, ...told } = context
    return { ...told, records: recordsOf(bytes, count, context, names) }
  }
}

function contextOf(buffer: Buffer, at: number): BatchContext {
  const attributes = buffer.readInt16BE(at + ATTRIBUTES_AT)
  const int64At = (field: number) => buffer.readBigInt64BE(at + field).toString()
  return {
    firstOffset: int64At(0),
    firstTimestamp: int64At(FIRST_TIME_AT),
    partitionLeaderEpoch: buffer.readInt32BE(at + LEADER_EPOCH_AT),
    inTransaction: (attributes & TRANSACTIONAL_BIT) !== 0,
    isControlBatch: (attributes & CONTROL_BIT) !== 0,
    lastOffsetDelta: buffer.readInt32BE(at + LAST_OFFSET_DELTA_AT),
    producerId: int64At(PRODUCER_ID_AT),
    producerEpoch: buffer.readInt16BE(at + PRODUCER_EPOCH_AT),
    firstSequence: buffer.readInt32BE(at + FIRST_SEQUENCE_AT),
    maxTimestamp: int64At(LAST_TIME_AT),
    timestampType: (attributes & LOG_APPEND_TIME_BIT) === 0 ? CREATE_TIME : LOG_APPEND_TIME,
    magicByte: buffer.readInt8(at + MAGIC_AT),
  }
}

function recordsOf(bytes: Buffer, count: number, context: BatchContext, names: LatestNames): DecodedRecord[] {
  const reader = createByteReader(bytes)
  const offset = sumWith(context.firstOffset)
  const isAppendTime = context.timestampType === LOG_APPEND_TIME
  const time = isAppendTime ? () => context.maxTimestamp : sumWith(context.firstTimestamp)
  const records: DecodedRecord[] = []
  for (let n = 0; n < count; n++) {
    const end = reader.varInt() + reader.at()
    records.push(decodeRecord(reader, context, offset, time, names))
    reader.goTo(end)
  }
  return records
}

/** Offsets and times may have 64 bits, but no big integer is made where a number is exact. */
function sumWith(text: string): Sum {
  const first = BigInt(text)
  const number = Number(first)
  const exact = Number.isSafeInteger(number) ? number : Number.NaN
  return (delta) => {
    const sum = exact + Number(delta)
    return typeof delta === 'number' && Number.isSafeInteger(sum)
      ? String(sum)
      : String(first + BigInt(delta))
  }
}
