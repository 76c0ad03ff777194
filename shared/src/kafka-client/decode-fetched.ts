import type { BatchDecoder } from './decode-batch.ts'
import type { DecodedRecord } from './decode-record.ts'

/** What is used here of kafkajs: the Decoder that an answer is read with, and its decoder for what Kafka wrote before 0.11. */
type AnswerDecoder = {
  readInt32(): number
  canReadBytes(length: number): boolean
  readBytes(length: number): Buffer
}
type DecoderClass = new (bytes: Buffer) => AnswerDecoder
type DecodeMessageSet = (messages: AnswerDecoder, length: number) => Promise<DecodedRecord[]>

// Where the fields are that record batches and the messages before them have in common.
const LENGTH_AT = 8
const COUNTED_FROM = 12
const MAGIC_AT = 16
const MAGIC = 2

/**
 * Decodes what a fetch brings of a partition. The one in kafkajs 2.2.4 has each record of a batch be an argument of one
 * call: a batch of some 120,000, which anybody may write, takes more stack than there is, and stops every reader for ever.
 */
export function fetchedDecoder(
  decodeBatch: BatchDecoder,
  Decoder: DecoderClass,
  decodeMessageSet: DecodeMessageSet,
) {
  return async (bytes: Buffer): Promise<DecodedRecord[]> => {
    if (bytes[MAGIC_AT] !== MAGIC) return decodeMessageSet(new Decoder(bytes), bytes.length)
    const records: DecodedRecord[] = []
    let at = 0
    while (bytes.length - at >= COUNTED_FROM) {
      // In a batch that is broken the length may be negative.
      const end = at + Math.max(0, COUNTED_FROM + bytes.readInt32BE(at + LENGTH_AT))
      // A fetch ends where it has as many bytes as were asked for, which is most often within a batch.
      if (end > bytes.length) break
      for (const record of await decodeBatch(bytes.subarray(at, end))) records.push(record)
      at = end
    }
    return records
  }
}

/** Takes them out of an answer in which their length stands before them. */
export function fetchedReader(decode: (bytes: Buffer) => Promise<DecodedRecord[]>) {
  return async (answer: AnswerDecoder): Promise<DecodedRecord[]> => {
    const length = answer.readInt32()
    return length <= 0 || !answer.canReadBytes(length) ? [] : decode(answer.readBytes(length))
  }
}
