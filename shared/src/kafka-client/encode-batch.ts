import type { ByteWriter } from './byte-writer.ts'
import { crc32c } from './crc32c.ts'
import { type Message, writeRecord } from './encode-record.ts'

export type Int64 = number | string | bigint
/** What is used here of the Long of kafkajs. */
export type LongType = { fromValue(value: Int64): { value: bigint } }

/** The records of one partition that go together. */
export type Batch = {
  messages: readonly Message[]
  /** The time of those that have none, in milliseconds since 1970. */
  nowMs: number
  /** The number of the codec, 0 for none; then the records as the codec left them. */
  compression: number
  compressed?: Buffer | undefined
  isTransactional: boolean
  producerId: Int64
  producerEpoch: number
  firstSequence: number
}

const CODEC_BITS = 0x07
const TRANSACTIONAL_BIT = 0x10
const MAGIC = 2
const LEADER_EPOCH = 0
const FIRST_OFFSET = 0n

/** Writes a record batch of the format that Kafka has had since 0.11. */
export function writeBatch(to: ByteWriter, long: LongType, batch: Batch): void {
  const { messages, compressed, compression } = batch
  const [firstMs, lastMs] = timesOf(batch)
  const int64 = (value: Int64) => to.int64(long.fromValue(value).value)
  to.int64(FIRST_OFFSET)
  const from = to.openSize()
  to.int32(LEADER_EPOCH)
  to.int8(MAGIC)
  const checked = to.openSize()
  to.int16((compression & CODEC_BITS) | (batch.isTransactional ? TRANSACTIONAL_BIT : 0))
  to.int32(messages.length - 1)
  int64(firstMs)
  int64(lastMs)
  int64(batch.producerId)
  to.int16(batch.producerEpoch)
  to.int32(batch.firstSequence)
  to.int32(messages.length)
  if (compressed === undefined) writeRecords(to, batch)
  else to.buffer(compressed)
  to.int32Before(checked, crc32c(to.writtenFrom(checked)))
  to.closeSize(from)
}

/** Writes the records of a batch and nothing around them: what a codec compresses. */
export function writeRecords(to: ByteWriter, batch: Pick<Batch, 'messages' | 'nowMs'>): void {
  const [firstMs] = timesOf(batch)
  const { messages, nowMs } = batch
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as Message
    writeRecord(to, message, index, Number(message.timestamp || nowMs) - Number(firstMs))
  }
}

/** The first and the last, as kafkajs finds them: by their texts, and without those that are set to now. */
function timesOf({ messages, nowMs }: Pick<Batch, 'messages' | 'nowMs'>): [Int64, Int64] {
  const times: string[] = []
  for (const { timestamp } of messages)
    if (timestamp !== null && timestamp !== undefined) times.push(timestamp)
  times.sort()
  return [times[0] ?? nowMs, times.at(-1) ?? nowMs]
}
