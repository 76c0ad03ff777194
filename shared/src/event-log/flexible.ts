import { type TopicId, topicIdOf } from './topic-id.ts'

// What Kafka's newer versions of requests have in common, which it calls flexible (KIP-482), on kafkajs's own Encoder and
// Decoder. A header's tags come after what kafkajs writes and reads of it itself: so they stand before the body.

/** What is used here of kafkajs's Encoder. */
export type Encoder = {
  writeInt8(value: number): Encoder
  writeInt32(value: number): Encoder
  writeInt64(value: string | number): Encoder
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
  readUVarIntArray<T>(read: (decoder: Decoder) => T): T[] | null
  readTaggedFields(): unknown
}
export type DecoderClass = new (bytes: Buffer) => Decoder

/** One version of a request, as kafkajs has it. */
export type Call = {
  request: { apiVersion: number; encode(): Promise<Encoder> }
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

export const readInt32s = (decoder: Decoder): number[] =>
  decoder.readUVarIntArray((each) => each.readInt32()) ?? []

/** Reads fields and the tags after them, which tell nothing that is asked for here. */
export function readTagged<T>(decoder: Decoder, fields: T): T {
  decoder.readTaggedFields()
  return fields
}

export const readTopicId = (decoder: Decoder): TopicId | undefined =>
  topicIdOf(decoder.readBytes(TOPIC_ID_BYTES))

/** Reads a response to its end. Throws a RangeError where that is not the end of its bytes: kafkajs reads on beyond. */
export function readWhole<T>(decoder: Decoder, read: (decoder: Decoder) => T): T {
  decoder.readTaggedFields()
  const body = readTagged(decoder, read(decoder))
  if (decoder.offset !== decoder.buffer.length) {
    throw new RangeError(`a response of ${decoder.buffer.length} bytes was read as one of ${decoder.offset}`)
  }
  return body
}
