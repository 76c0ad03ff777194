import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseIdempotencyKey } from './create-route.ts'

const ascii = (from: number, to: number) => fc.integer({ min: from, max: to }).map((code) => String.fromCharCode(code))
/** All texts that a String of a structured field can have. */
const keys = fc.string({ unit: ascii(0x20, 0x7e), minLength: 1, maxLength: 255 })
const quoted = (key: string) => `"${key.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
const refused = expect.objectContaining({ failure: 'invalidIdempotencyKey' })

describe('an Idempotency-Key', () => {
  it('is the unescaped text between the quotes, and without quotes if all of it is visible', () => {
    fc.assert(
      fc.property(keys, (key) => {
        expect(parseIdempotencyKey(quoted(key))).toBe(key)
        const bare = key.replaceAll(/[" ]/g, "'")
        expect(parseIdempotencyKey(bare)).toBe(bare)
      }),
    )
    expect(parseIdempotencyKey('"a \\"b\\" \\\\ c"')).toBe('a "b" \\ c')
  })

  it('has 1 to 255 characters, counted without quotes and escapes', () => {
    expect(parseIdempotencyKey('x'.repeat(255))).toHaveLength(255)
    expect(parseIdempotencyKey(quoted('"'.repeat(255)))).toHaveLength(255)
  })

  it.each([
    ...['', '""', 'x'.repeat(256), quoted('x'.repeat(256)), quoted('\\'.repeat(256)), ['a', 'b'], ['"a"']],
    ...['"', '"a', 'a"', 'a"b', '"a"b"', '"a\\"', '"a\\b"', '"\\', '"a" ', ' "a"', '"a";p=1', '"a"; p', '"a", "b"'],
    ...['"a","b"', 'a b', 'a, b', ' ', 'ä', '"ä"', 'a\u007f', '"a\u007f"', '"a\tb"', '"a\n"', 'a\n', '\u0000', '“a”'],
  ])('is refused as %j', (header) => {
    expect(() => parseIdempotencyKey(header)).toThrow(refused)
  })
})
