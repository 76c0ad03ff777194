import { crc32 } from 'node:zlib'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Cursor, decodeCursor, encodeCursor } from './cursor.ts'

const MOST_PARTITIONS = 1_000
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('')

const counts = fc.oneof(fc.nat(200), fc.nat({ max: 2 ** 48 - 1 }), fc.constantFrom(127, 128, 2 ** 48 - 1))
const cursors: fc.Arbitrary<Cursor> = fc
  .tuple(fc.array(counts, { minLength: 1, maxLength: 30 }), fc.nat())
  .map(([listed, at]) => ({ partition: (at % listed.length) as Partition, listed }))

describe('a cursor', () => {
  it('decodes to what was encoded, and is invalid for a topic of another size', () => {
    const longest = Array<number>(MOST_PARTITIONS).fill(2 ** 48 - 1)
    fc.assert(
      fc.property(cursors, (cursor) => {
        const text = encodeCursor(cursor)
        const { length } = cursor.listed
        expect(text).toMatch(/^[\w-]+$/)
        expect(decodeCursor(text, length)).toEqual(cursor)
        for (const other of [length - 1, length + 1]) expect(decodeCursor(text, other)).toBeUndefined()
      }),
      { examples: [[{ partition: (MOST_PARTITIONS - 1) as Partition, listed: longest }]] },
    )
  })

  it('has the same text in every release: a client may send one after an update', () => {
    expect(encodeCursor({ partition: 1 as Partition, listed: [0, 300, 2 ** 40] })).toBe('AQMBAKwCgICAgIAgX_rVpw')
  })

  it('is invalid with any one character changed, removed, doubled or inserted', () => {
    const places = fc.record({ cursor: cursors, at: fc.nat(), character: fc.constantFrom(...BASE64URL) })
    fc.assert(
      fc.property(places, ({ cursor, at, character }) => {
        const text = encodeCursor(cursor)
        const place = at % text.length
        const [before, after] = [text.slice(0, place), text.slice(place + 1)]
        for (const mutant of [before + character + after, before + after, before + character + text.slice(place)]) {
          if (mutant !== text) expect(decodeCursor(mutant, cursor.listed.length)).toBeUndefined()
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ['another version', [2, 2, 1, 5, 7]],
    ['a partition that does not exist', [1, 2, 2, 5, 7]],
    ['a count too few', [1, 2, 1, 5]],
    ['a number in more bytes than necessary', [1, 2, 1, 0x85, 0, 7]],
    ['a number that does not end', [1, 2, 1, 5, 0x87]],
    ['a number from 2^48 on', [1, 2, 1, 5, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40]],
  ])('is invalid with %s, even with a correct checksum', (_what, numbers) => {
    expect(decodeCursor(sealed([1, 2, 1, 5, 7]), 2)).toEqual({ partition: 1, listed: [5, 7] })
    expect(decodeCursor(sealed(numbers), 2)).toBeUndefined()
  })

  it('is not decoded when it is too long', () => {
    expect(decodeCursor('A'.repeat(50_000_000), MOST_PARTITIONS)).toBeUndefined()
  })
})

/** The text of a cursor with these bytes and their checksum. */
function sealed(bytes: number[]): string {
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(Buffer.from(bytes)))
  return Buffer.concat([Buffer.from(bytes), checksum]).toString('base64url')
}
