import { type TopicId, topicIdOf } from './topic-id.ts'

// What Kafka's newer versions of requests have in common, which it calls flexible (KIP-482), on kafkajs's own Encoder and
// Decoder. A header's tags come after what kafkajs writes and reads of it itself: so they stand before the body.

/** What is used here of kafkajs's Encoder. */
export type Encoder = {
  writeBoolean(value: boolean): Encoder
  writeBuffer(bytes: Buffer): Encoder
  writeUVarInt(value: number): Encoder
  writeUVarIntString(text: string): Encoder
  writeUVarIntArray(items: Encoder[] | null): Encoder
}
export type EncoderClass = new () => Encoder

/** What is used here of kafkajs's Decoder. */
export type Decoder = {
  buffer: Buffer
  offset: number
  readInt16(): number
  readInt32(): number
  readInt64(): bigint
  readBoolean(): boolean
  readBytes(length: number): Buffer
  readUVarInt(): number
  readUVarIntString(): string | null
}
export type DecoderClass = new (bytes: Buffer) => Decoder

/** One version of a request, as kafkajs has it. */
export type Call = {
  request: { apiVersion: number; encode(): Promise<object> }
  response: { decode(bytes: Buffer): Promise<unknown>; parse(decoded: unknown): Promise<unknown> }
}
/** A kind of request: kafkajs takes the highest of these versions that the broker does not have beyond. */
export type Definition<Options> = {
  versions: (string | number)[]
  protocol(wanted: { version: number }): (options: Options) => Call
}

const TOPIC_ID_BYTES = 16

/** Adds a version to those that kafkajs has; `build` is given the call of the highest of these. */
export function withVersion<Options>(
  known: Definition<Options>,
  added: number,
  build: (highest: Call, options: Options) => Call,
): Definition<Options> {
  const version = Math.max(...known.versions.map(Number))
  return {
    versions: [...known.versions, added],
    // A broker may have one between the two.
    protocol: (wanted) =>
      wanted.version < added
        ? known.protocol({ version: Math.min(version, wanted.version) })
        : (options) => build(known.protocol({ version })(options), options),
  }
}

/** None are written here. */
export const writeTags = (encoder: Encoder): Encoder => encoder.writeUVarInt(0)

/** Each of what is counted takes a byte at least; kafkajs would read on for hours where the count is damaged. */
function refuseMoreThanThereIs(decoder: Decoder, count: number): void {
  const left = Math.max(0, decoder.buffer.length - decoder.offset)
  if (count > left) throw new RangeError(`${count} parts of a response have ${left} bytes`)
}

/** None where the array is null. */
export function readArray<T>(decoder: Decoder, read: (decoder: Decoder) => T): T[] {
  const count = Math.max(0, decoder.readUVarInt() - 1)
  refuseMoreThanThereIs(decoder, count)
  return Array.from({ length: count }, () => read(decoder))
}

export const readInt32s = (decoder: Decoder): number[] => readArray(decoder, (each) => each.readInt32())

/** Passes tags, which tell nothing that is asked for here. The sizes of theirs kafkajs takes for one byte less. */
function passTags(decoder: Decoder): void {
  const count = decoder.readUVarInt()
  refuseMoreThanThereIs(decoder, count)
  for (let passed = 0; passed < count; passed++) {
    decoder.readUVarInt()
    const size = decoder.readUVarInt()
    decoder.readBytes(size)
  }
}

/** Reads fields and the tags after them. */
export function readTagged<T>(decoder: Decoder, fields: T): T {
  passTags(decoder)
  return fields
}

export const readTopicId = (decoder: Decoder): TopicId | undefined =>
  topicIdOf(decoder.readBytes(TOPIC_ID_BYTES))

/** Reads a response to its end. Throws a RangeError where that is not the end of its bytes: kafkajs reads on beyond. */
export function readWhole<T>(decoder: Decoder, read: (decoder: Decoder) => T): T {
  passTags(decoder)
  const body = readTagged(decoder, read(decoder))
  if (decoder.offset !== decoder.buffer.length) {
    throw new RangeError(`a response of ${decoder.buffer.length} bytes was read as one of ${decoder.offset}`)
  }
  return body
}
