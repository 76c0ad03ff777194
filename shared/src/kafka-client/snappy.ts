import { createByteReader } from './byte-codec.ts'
import { createOutput, type Output } from './output.ts'

/** The frame of snappy-java, which Kafka's Java client writes: this magic, two versions, and blocks with their sizes. */
const MAGIC = Buffer.from('\x82SNAPPY\0', 'latin1')
const VERSIONS_BYTES = 8
const TYPE_BITS = 0x03
const [LITERAL, SHORT_COPY, COPY] = [0, 1, 2]
/** Longer literals have their length in the next bytes. */
const MAX_SHORT_LITERAL = 60
const MIN_SHORT_COPY = 4

/**
 * Decompresses Snappy: one block, as librdkafka writes it, or the frames of the Java client. Throws a RangeError for
 * other bytes, and for more than `maxBytes` of output.
 */
export function decompressSnappy(input: Buffer, maxBytes: number): Buffer {
  const output = createOutput(maxBytes)
  const isMagicAt = (at: number) => input.subarray(at, at + MAGIC.length).equals(MAGIC)
  if (!isMagicAt(0)) readBlock(input, output)
  else {
    const reader = createByteReader(input)
    while (reader.bytesLeft() > 0) {
      if (isMagicAt(reader.position())) reader.bytes(MAGIC.length + VERSIONS_BYTES)
      else readBlock(reader.bytes(reader.int32()), output)
    }
  }
  return output.finish()
}

/** A block is its decompressed size, and then literal bytes and copies of its earlier output. */
function readBlock(block: Buffer, output: Output): void {
  const reader = createByteReader(block)
  const size = reader.uVarInt()
  const floor = output.length()
  while (reader.bytesLeft() > 0) {
    const tag = reader.int8() & 0xff
    const [type, length] = [tag & TYPE_BITS, (tag >>> 2) + 1]
    if (type === LITERAL) {
      const literal = length <= MAX_SHORT_LITERAL ? length : uint(reader.bytes(length - MAX_SHORT_LITERAL)) + 1
      output.append(reader.bytes(literal), 0, literal)
    } else if (type === SHORT_COPY) {
      output.repeat(((tag >>> 5) << 8) | (reader.int8() & 0xff), ((tag >>> 2) & 0x07) + MIN_SHORT_COPY, floor)
    } else output.repeat(uint(reader.bytes(type === COPY ? 2 : 4)), length, floor)
  }
  if (output.length() - floor !== size) throw new RangeError(`a Snappy block of ${size} bytes has another size`)
}

/** A little-endian number of up to 4 bytes. */
const uint = (bytes: Buffer): number => bytes.readUIntLE(0, bytes.length)
