import { type ByteReader, createByteReader } from './byte-codec.ts'
import { createOutput, type Output } from './output.ts'

const FRAME = 0x184d2204
/** Frames with other content have one of 16 magic numbers. */
const [SKIPPABLE, SKIPPABLE_BITS] = [0x184d2a50, 0xfffffff0]
const [VERSION, VERSION_SHIFT] = [1, 6]
const [INDEPENDENT_BIT, BLOCK_CHECKSUM_BIT, SIZE_BIT, CHECKSUM_BIT, DICTIONARY_BIT] = [0x20, 0x10, 0x08, 0x04, 0x01]
const CHECKSUM_BYTES = 4
const SIZE_BYTES = 8
const DESCRIPTOR_CHECKSUM_BYTES = 1
const NOT_COMPRESSED_BIT = 0x80000000
const MORE_LENGTH = 15
const LAST_LENGTH_BYTE = 255
const MIN_COPY = 4

/**
 * Decompresses LZ4 frames, of which several may follow one another. Throws a RangeError for other bytes, and for more
 * than `maxBytes` of output. The checksums are not verified: the record batch has its own.
 */
export function decompressLz4(input: Buffer, maxBytes: number): Buffer {
  const reader = createByteReader(input)
  const output = createOutput(maxBytes)
  while (reader.bytesLeft() > 0) {
    const magic = uint32(reader)
    if (magic === FRAME) readFrame(reader, output)
    else if ((magic & SKIPPABLE_BITS) >>> 0 === SKIPPABLE) reader.bytes(uint32(reader))
    else throw new RangeError(`${magic} is not the magic number of an LZ4 frame`)
  }
  return output.finish()
}

const uint32 = (reader: ByteReader): number => reader.bytes(4).readUInt32LE()

function readFrame(reader: ByteReader, output: Output): void {
  // The second byte is the greatest size of a block; the output is limited anyway.
  const flags = reader.bytes(2).readUInt8()
  if (flags >>> VERSION_SHIFT !== VERSION || (flags & DICTIONARY_BIT) !== 0)
    throw new RangeError(`an LZ4 frame has the flags ${flags}`)
  if ((flags & SIZE_BIT) !== 0) reader.bytes(SIZE_BYTES)
  reader.bytes(DESCRIPTOR_CHECKSUM_BYTES)
  const start = output.length()
  for (let size = uint32(reader); size !== 0; size = uint32(reader)) {
    const block = reader.bytes(size % NOT_COMPRESSED_BIT)
    if (size >= NOT_COMPRESSED_BIT) output.append(block, 0, block.length)
    else readBlock(block, output, (flags & INDEPENDENT_BIT) === 0 ? start : output.length())
    if ((flags & BLOCK_CHECKSUM_BIT) !== 0) reader.bytes(CHECKSUM_BYTES)
  }
  if ((flags & CHECKSUM_BIT) !== 0) reader.bytes(CHECKSUM_BYTES)
}

/** A block is sequences of literal bytes and a copy of earlier output, from `floor` on; the last one has no copy. */
function readBlock(block: Buffer, output: Output, floor: number): void {
  let at = 0

  function byte(): number {
    const value = block[at++]
    if (value === undefined) throw new RangeError('an LZ4 block ends within a sequence')
    return value
  }

  function lengthFrom(nibble: number): number {
    let length = nibble
    if (nibble < MORE_LENGTH) return length
    for (let next = LAST_LENGTH_BYTE; next === LAST_LENGTH_BYTE; length += next) next = byte()
    return length
  }

  while (true) {
    const token = byte()
    const literal = lengthFrom(token >>> 4)
    output.append(block, at, literal)
    at += literal
    if (at === block.length) return
    const distance = byte() | (byte() << 8)
    output.repeat(distance, lengthFrom(token & MORE_LENGTH) + MIN_COPY, floor)
  }
}
