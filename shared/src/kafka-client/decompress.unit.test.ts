import { gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { CODECS, MAX_BATCH_BYTES } from './decompress.ts'
import { decompressLz4 } from './lz4.ts'
import { decompressSnappy } from './snappy.ts'

// Bytes that the encoders of Kafka's clients write are read in fetched-records.unit.test.ts.

const LIMIT = 1_000_000

function little(value: number, bytes: number): Buffer {
  const written = Buffer.alloc(bytes)
  written.writeUIntLE(value, 0, bytes)
  return written
}

function big(value: number): Buffer {
  const written = Buffer.alloc(4)
  written.writeInt32BE(value)
  return written
}

const text = (length: number) => Buffer.from(Array.from({ length }, (_, n) => n % 251))

/** The bytes, and then a copy of so many bytes from so far back, byte by byte. */
function withCopy(literal: Buffer, distance: number, length: number): Buffer {
  const output = [...literal]
  for (let n = 0; n < length; n++) output.push(output[output.length - distance] as number)
  return Buffer.from(output)
}

/** The bytes of an LZ4 length beyond its nibble. */
const lengthBytes = (length: number) =>
  Buffer.from(length < 15 ? [] : [...Array(Math.floor((length - 15) / 255)).fill(255), (length - 15) % 255])
const nibble = (length: number) => Math.min(15, length)

function lz4Sequence(literal: Buffer, distance: number, length: number): Buffer {
  const token = Buffer.of((nibble(literal.length) << 4) | nibble(length - 4))
  return Buffer.concat([token, lengthBytes(literal.length), literal, little(distance, 2), lengthBytes(length - 4)])
}

/** The last sequence of a block has literals alone. */
const LAST = Buffer.of(0)

const lz4Frame = (blocks: readonly Buffer[], flags = 0x60) =>
  Buffer.concat([
    ...[little(0x184d2204, 4), Buffer.of(flags, 0x70, 0)],
    ...blocks.flatMap((block) => [little(block.length, 4), block]),
    little(0, 4),
  ])

const XERIAL = Buffer.concat([Buffer.from('\x82SNAPPY\0', 'latin1'), big(1), big(1)])
const xerialBlock = (block: Buffer) => Buffer.concat([big(block.length), block])
const SIZE_OF_LIMIT = Buffer.of(0x81, 0x80, 0x80, 0x20)

it.each([
  ['gzip', gzipSync(Buffer.alloc(MAX_BATCH_BYTES + 1))],
  ['Zstandard', zstdCompressSync(Buffer.alloc(MAX_BATCH_BYTES + 1))],
  ['LZ4', lz4Frame([Buffer.concat([lz4Sequence(Buffer.of(1), 1, MAX_BATCH_BYTES), LAST])])],
  ['Snappy', Buffer.concat([SIZE_OF_LIMIT, Buffer.of(0, 1), Buffer.alloc(3 * 1_048_576, '\xfe\x01\0', 'latin1')])],
])('%s of more than the limit is not decompressed', async (codec, bytes) => {
  await expect(CODECS.find(({ name }) => name === codec)?.decompress(bytes)).rejects.toThrow(RangeError)
})

describe('LZ4', () => {
  // Lengths that take one byte more, and copies that reach into what they append.
  it.each([1, 14, 15, 16, 269, 270, 271, 70_000])('is decompressed: a literal of %d bytes and copies', (literal) => {
    for (const distance of [1, Math.min(60, literal), Math.min(65_535, literal)])
      for (const length of [4, 18, 19, 49, 273, 274, 2_000]) {
        const block = Buffer.concat([lz4Sequence(text(literal), distance, length), LAST])
        const output = withCopy(text(literal), distance, length)
        const frame = lz4Frame([block, block])
        const decompressed = decompressLz4(Buffer.concat([frame, frame]), LIMIT)
        expect(decompressed.equals(Buffer.concat(Array(4).fill(output)))).toBe(true)
      }
  })

  it('is decompressed from blocks that are not compressed, beside frames to skip', () => {
    const block = Buffer.from('stored')
    const frame = Buffer.concat([lz4Frame([]).subarray(0, 7), little(0x80000000 + 6, 4), block, little(0, 4)])
    const skipped = Buffer.concat([little(0x184d2a53, 4), little(3, 4), Buffer.of(1, 2, 3)])
    expect(decompressLz4(Buffer.concat([skipped, frame, skipped]), 100).toString()).toBe('stored')
    expect(decompressLz4(Buffer.of(), 100)).toHaveLength(0)
  })

  it('copies from the block before only in frames whose blocks are linked', () => {
    const literals = Buffer.concat([Buffer.of(6 << 4), Buffer.from('before')])
    const blocks = [literals, Buffer.concat([lz4Sequence(Buffer.from('!'), 7, 6), LAST])]
    expect(decompressLz4(lz4Frame(blocks, 0x40), 100).toString()).toBe('before!before')
    expect(() => decompressLz4(lz4Frame(blocks, 0x60), 100)).toThrow('a copy starts 7 bytes back')
  })
})

const literalOf = (length: number, extra: number) =>
  extra === 0
    ? Buffer.concat([Buffer.of((length - 1) << 2), text(length)])
    : Buffer.concat([Buffer.of((59 + extra) << 2), little(length - 1, extra), text(length)])
const shortCopy = (distance: number, length: number) =>
  Buffer.of(1 | ((length - 4) << 2) | ((distance >> 8) << 5), distance & 0xff)
const copyOf = (bytes: 2 | 4) => (distance: number, length: number) =>
  Buffer.concat([Buffer.of((bytes === 2 ? 2 : 3) | ((length - 1) << 2)), little(distance, bytes)])
const varintOf = (size: number) => Buffer.of((size & 0x7f) | 0x80, ((size >> 7) & 0x7f) | 0x80, size >> 14)

it.each([
  [60, 0, 59, 11, shortCopy],
  [256, 1, 256, 4, shortCopy],
  [2_047, 2, 2_047, 7, shortCopy],
  [65_535, 2, 65_535, 64, copyOf(2)],
  [70_000, 4, 70_000, 64, copyOf(4)],
  // The copy reaches into what it appends.
  [3, 0, 2, 64, copyOf(2)],
])(
  'Snappy is decompressed: a literal of %d bytes, whose length has %d more',
  (literal, extra, distance, length, copy) => {
    const output = withCopy(text(literal), distance, length)
    const block = Buffer.concat([varintOf(output.length), literalOf(literal, extra), copy(distance, length)])
    expect(decompressSnappy(block, LIMIT).equals(output)).toBe(true)
    const framed = Buffer.concat([XERIAL, xerialBlock(block), XERIAL, xerialBlock(block)])
    expect(decompressSnappy(framed, LIMIT).equals(Buffer.concat([output, output]))).toBe(true)
  },
)

it.each<[string, typeof decompressLz4, Buffer]>([
  ['LZ4 of another version', decompressLz4, lz4Frame([], 0xa0)],
  ['LZ4 with a dictionary', decompressLz4, lz4Frame([], 0x61)],
  ['LZ4 without an end', decompressLz4, lz4Frame([]).subarray(0, -4)],
  ['LZ4 of the legacy format', decompressLz4, Buffer.concat([little(0x184c2102, 4), little(0, 4)])],
  ['LZ4 with a copy of distance 0', decompressLz4, lz4Frame([Buffer.of(0x10, 1, 0, 0, 0)])],
  ['LZ4 with a block that ends within a copy', decompressLz4, lz4Frame([Buffer.of(0x10, 1, 1)])],
  ['Snappy with another size', decompressSnappy, Buffer.of(2, 0, 1)],
  ['Snappy that copies from before its start', decompressSnappy, Buffer.of(8, 0, 1, 0b000_001_01, 2)],
  ['Snappy with a copy of distance 0', decompressSnappy, Buffer.of(6, 0, 1, 0b000_001_01, 0)],
  ['Snappy that ends within a literal', decompressSnappy, Buffer.of(9, 8 << 2, 1)],
  ['Snappy with a literal of 4 GiB', decompressSnappy, Buffer.of(9, 63 << 2, 255, 255, 255, 255)],
  ['Snappy with a frame of a negative size', decompressSnappy, Buffer.concat([XERIAL, big(-1)])],
  ['Snappy with a frame that ends early', decompressSnappy, Buffer.concat([XERIAL, big(9)])],
  ['Snappy of no bytes', decompressSnappy, Buffer.of()],
])('%s is refused', (_what, decompress, bytes) => {
  expect(() => decompress(bytes, 100)).toThrow(RangeError)
})
