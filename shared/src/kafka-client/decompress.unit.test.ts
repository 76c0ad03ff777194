import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CODECS, MAX_BATCH_BYTES } from './decompress.ts'
import { decompressLz4 } from './lz4.ts'
import { decompressSnappy } from './snappy.ts'

const MAX_BYTES = 200_000

/** A step of an encoder: literal bytes, then a copy of earlier output, counted back from its end. */
type Step = { literal: Buffer; back: number; length: number }

const bytesOf = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array))
const literal = fc.oneof(
  bytesOf(20),
  bytesOf(70),
  fc.constantFrom(15, 60, 61, 255, 270, 300, 70_000).map((length) => Buffer.alloc(length, 'literal')),
)
const steps = fc.array(
  fc.record({ literal, back: fc.oneof(fc.nat(20), fc.nat(65_535)), length: fc.oneof(fc.nat(80), fc.nat(2_000)) }),
  { minLength: 1, maxLength: 6 },
)

/** The output of the steps, and the steps with copies that begin in it; each copy has at least 4 bytes. */
function played(all: readonly Step[]): { output: Buffer; all: Step[] } {
  const output: number[] = []
  const possible: Step[] = []
  for (const { literal, back, length } of all) {
    output.push(...literal)
    if (output.length === 0) continue
    const distance = 1 + (back % Math.min(output.length, 65_535))
    for (let n = 0; n < 4 + length; n++) output.push(output[output.length - distance] as number)
    possible.push({ literal, back: distance, length: 4 + length })
  }
  return { output: Buffer.from(output), all: possible }
}

const little = (value: number, bytes: number) => {
  const written = Buffer.alloc(bytes)
  written.writeUIntLE(value, 0, bytes)
  return written
}

function big(value: number): Buffer {
  const written = Buffer.alloc(4)
  written.writeInt32BE(value)
  return written
}

/** The bytes of a length beyond its nibble. */
const lengthBytes = (length: number) =>
  length < 15
    ? Buffer.of()
    : Buffer.concat([Buffer.alloc(Math.floor((length - 15) / 255), 255), Buffer.of((length - 15) % 255)])
const nibble = (length: number) => Math.min(15, length)

function lz4Block(all: readonly Step[]): Buffer {
  const sequences = all.map(({ literal, back, length }) => {
    const token = Buffer.of((nibble(literal.length) << 4) | nibble(length - 4))
    return Buffer.concat([token, lengthBytes(literal.length), literal, little(back, 2), lengthBytes(length - 4)])
  })
  // The last sequence has literals alone.
  return Buffer.concat([...sequences, Buffer.of(0)])
}

const lz4Frame = (blocks: readonly Buffer[], flags = 0x60) =>
  Buffer.concat([
    ...[little(0x184d2204, 4), Buffer.of(flags, 0x70, 0)],
    ...blocks.flatMap((block) => [little(block.length, 4), block]),
    little(0, 4),
  ])

function varint(value: number): Buffer {
  const written: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) written.push((rest & 0x7f) | 0x80)
  return Buffer.of(...written, rest)
}

/** Uses the shortest form of each element where `isShort`, otherwise the longest. */
function snappyBlock({ output, all }: ReturnType<typeof played>, isShort: boolean): Buffer {
  const parts = [varint(output.length)]
  for (const { literal, back, length } of all) {
    if (literal.length > 0) {
      const extra = isShort && literal.length <= 60 ? 0 : isShort && literal.length <= 256 ? 1 : 4
      const field = extra === 0 ? literal.length - 1 : 59 + extra
      parts.push(Buffer.of(field << 2), extra === 0 ? Buffer.of() : little(literal.length - 1, extra), literal)
    }
    for (let left = length; left > 0; ) {
      const n = Math.min(64, left)
      if (isShort && back < 2_048 && n >= 4 && n <= 11)
        parts.push(Buffer.of(1 | ((n - 4) << 2) | ((back >> 8) << 5), back))
      else parts.push(Buffer.of((isShort ? 2 : 3) | ((n - 1) << 2)), little(back, isShort ? 2 : 4))
      left -= n
    }
  }
  return Buffer.concat(parts)
}

const XERIAL = Buffer.concat([Buffer.from('\x82SNAPPY\0', 'latin1'), big(1), big(1)])
const xerialBlock = (block: Buffer) => Buffer.concat([big(block.length), block])

it.each([
  ['gzip', gzipSync(Buffer.alloc(MAX_BATCH_BYTES + 1))],
  ['Zstandard', zstdCompressSync(Buffer.alloc(MAX_BATCH_BYTES + 1))],
  ['LZ4', lz4Frame([lz4Block([{ literal: Buffer.of(1), back: 1, length: MAX_BATCH_BYTES }])])],
  [
    'Snappy',
    Buffer.concat([varint(MAX_BATCH_BYTES + 1), Buffer.of(0, 1), Buffer.alloc(3 * 1_048_576, '\xfe\x01\0', 'latin1')]),
  ],
])('%s of more than the limit is not decompressed', async (codec, bytes) => {
  await expect(CODECS.find(({ name }) => name === codec)?.decompress(bytes)).rejects.toThrow(RangeError)
})

describe('LZ4', () => {
  it('is decompressed from blocks of any sequences', () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 3 }), (blocks) => {
        const all = blocks.map(played)
        const frame = lz4Frame(all.map((block) => lz4Block(block.all)))
        const output = Buffer.concat(all.map((block) => block.output))
        expect(decompressLz4(frame, 1_000_000).equals(output)).toBe(true)
        expect(decompressLz4(Buffer.concat([frame, frame]), 2_000_000).equals(Buffer.concat([output, output]))).toBe(
          true,
        )
      }),
      { numRuns: 200 },
    )
  })

  it('is decompressed from blocks that are not compressed, beside frames to skip', () => {
    const block = Buffer.from('stored')
    const frame = Buffer.concat([lz4Frame([]).subarray(0, 7), little(0x80000000 + 6, 4), block, little(0, 4)])
    const skipped = Buffer.concat([little(0x184d2a53, 4), little(3, 4), Buffer.of(1, 2, 3)])
    expect(decompressLz4(Buffer.concat([skipped, frame, skipped]), 100).toString()).toBe('stored')
    expect(decompressLz4(Buffer.of(), 100)).toHaveLength(0)
  })

  it('copies from the block before only in frames whose blocks are linked', () => {
    const blocks = [
      Buffer.concat([Buffer.of(6 << 4), Buffer.from('before')]),
      lz4Block([{ literal: Buffer.from('!'), back: 7, length: 6 }]),
    ]
    expect(decompressLz4(lz4Frame(blocks, 0x40), 100).toString()).toBe('before!before')
    expect(() => decompressLz4(lz4Frame(blocks, 0x60), 100)).toThrow('a copy starts 7 bytes back')
  })

  it.each([
    ['of another version', lz4Frame([], 0xa0)],
    ['with a dictionary', lz4Frame([], 0x61)],
    ['without an end', lz4Frame([]).subarray(0, -4)],
    ['of the legacy format', Buffer.concat([little(0x184c2102, 4), little(0, 4)])],
    ['with a copy of distance 0', lz4Frame([Buffer.of(0x10, 1, 0, 0, 0)])],
    ['with a block that ends within a copy', lz4Frame([Buffer.of(0x10, 1, 1)])],
  ])('is refused %s', (_what, bytes) => {
    expect(() => decompressLz4(bytes, 100)).toThrow(RangeError)
  })
})

describe('Snappy', () => {
  it('is decompressed from elements of any kind, as one block and in the frames of the Java client', () => {
    fc.assert(
      fc.property(steps, fc.boolean(), (given, isShort) => {
        const all = played(given)
        const block = snappyBlock(all, isShort)
        expect(decompressSnappy(block, MAX_BYTES * 3).equals(all.output)).toBe(true)
        const framed = Buffer.concat([XERIAL, xerialBlock(block), XERIAL, xerialBlock(block)])
        expect(decompressSnappy(framed, 2_000_000).equals(Buffer.concat([all.output, all.output]))).toBe(true)
      }),
      { numRuns: 200 },
    )
  })

  it.each([
    ['with another size', Buffer.of(2, 0, 1)],
    ['that copies from before its start', Buffer.of(8, 0, 1, 0b000_001_01, 2)],
    ['with a copy of distance 0', Buffer.of(6, 0, 1, 0b000_001_01, 0)],
    ['that ends within a literal', Buffer.of(9, 8 << 2, 1)],
    ['with a literal of 4 GiB', Buffer.of(9, 63 << 2, 255, 255, 255, 255)],
    ['with a frame of a negative size', Buffer.concat([XERIAL, big(-1)])],
    ['with a frame that ends early', Buffer.concat([XERIAL, big(9)])],
    ['of no bytes', Buffer.of()],
  ])('is refused %s', (_what, bytes) => {
    expect(() => decompressSnappy(bytes, 100)).toThrow(RangeError)
  })
})
