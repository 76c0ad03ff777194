import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HttpError } from './errors.ts'
import { exactInteger, OtherNumber, parseJsonBody } from './request-body.ts'

const MOST_DIGITS = 19
const MAX_DEPTH = 32

/** All ways to spell a JSON number, with many zeros among the digits. */
const spellings = fc.record({
  sign: fc.constantFrom('', '-'),
  whole: fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9][0-9]{0,21}$/), fc.stringMatching(/^[1-9]0{0,21}$/)),
  fraction: fc.oneof(fc.constant(''), fc.stringMatching(/^0{1,22}$/), fc.stringMatching(/^[0-9]{0,8}0{0,8}$/)),
  exponent: fc.oneof(fc.constant(undefined), fc.integer({ min: -30, max: 30 })),
  mark: fc.constantFrom('e', 'E', 'e+', 'E+'),
})
type Spelling = typeof spellings extends fc.Arbitrary<infer T> ? T : never

function spell({ sign, whole, fraction, exponent, mark }: Spelling): string {
  const digits = `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`
  if (exponent === undefined) return digits
  return `${digits}${exponent < 0 ? `${mark.charAt(0)}-` : mark}${Math.abs(exponent)}`
}

/** The number by rational arithmetic; undefined when it is no integer, or one of too many digits. */
function integerBySchoolArithmetic({ sign, whole, fraction, exponent = 0 }: Spelling): bigint | undefined {
  const tens = 10n ** BigInt(Math.abs(exponent))
  const numerator = BigInt(whole + fraction) * (exponent < 0 ? 1n : tens)
  const denominator = 10n ** BigInt(fraction.length) * (exponent < 0 ? tens : 1n)
  if (numerator % denominator !== 0n) return undefined
  const value = numerator / denominator
  if (value.toString().length > MOST_DIGITS) return undefined
  return sign === '-' ? -value : value
}

const failureOf = (body: Buffer): HttpError | undefined => {
  try {
    parseJsonBody(body)
    return undefined
  } catch (error) {
    return error as HttpError
  }
}

describe('a number in a body', () => {
  // Quadratic time would exceed the time limit of a test.
  it('is scanned once, however many zeros it has', () => {
    const zeros = '0'.repeat(60_000)
    for (const text of [`1${zeros}1`, `1.${zeros}1`, `0.${zeros}1${zeros}1`]) {
      expect(exactInteger(text)).toEqual(new OtherNumber(text))
    }
    expect(exactInteger(`1.${zeros}`)).toBe(1n)
    expect(exactInteger('0e999999999')).toBe(0n)
  })

  it('is exact when it is an integer, in every spelling', () => {
    fc.assert(
      fc.property(spellings, (spelling) => {
        const text = spell(spelling)
        const value = integerBySchoolArithmetic(spelling)
        expect(exactInteger(text)).toEqual(value === undefined ? new OtherNumber(text) : value)
        expect(parseJsonBody(Buffer.from(text))).toEqual(exactInteger(text))
      }),
      { numRuns: 5_000 },
    )
  })

  it.each([
    ...['1.5', '1e-1', '1e19', '10000000000000000000', '1e999999999', '-1e999999999', '1e-999999999'],
    ...[`1e${'9'.repeat(400)}`, `1e-${'9'.repeat(400)}`, `1${'0'.repeat(60_000)}`, `0.${'0'.repeat(60_000)}1`],
  ])('%.30s is not an integer that could be an id, and costs no memory', (text) => {
    expect(exactInteger(text)).toEqual(new OtherNumber(text))
  })
})

describe('a body', () => {
  // The fuzz target jsonBody compares what is accepted with JSON.parse.
  it.each([
    ['', /^the body is empty; /],
    ['{"id":1,"id":1}', /^an object in the body has a duplicate key$/],
    ['{"id":1,}', /^the body is not valid JSON at character 9; /],
    ['01', /^the body is not valid JSON at character \d+; /],
  ])('that is no JSON says why: %j', (text, message) => {
    expect(failureOf(Buffer.from(text))?.message).toMatch(message)
  })

  it.each<[string, string | Buffer]>([
    ['with a byte that begins nothing', Buffer.from('{"name":"\xff"}', 'latin1')],
    ['in UTF-16', Buffer.from('{"name":"n"}', 'utf16le')],
    ['with a byte order mark (RFC 8259, 8.1)', '\ufeff{"id":1}'],
    ['of nested lists', '['.repeat(60_000)],
    ['with a key twice', '{"id":1,"id":2}'],
    ['with a key twice in another spelling', '{"id":1,"\\u0069d":1}'],
    ['with a key twice within a list within an object', '{"a":[{"b":{},"b":{}}]}'],
    ['with a prototype twice', '{"__proto__":1,"__proto__":1}'],
  ])('is rejected %s', (_what, body) => {
    expect(failureOf(Buffer.from(body))).toMatchObject({ failure: 'malformedJson' })
  })

  it.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('is accepted up to the maximum depth of %s, and rejected beyond it', (_what, open, close) => {
    const nested = (depth: number) => Buffer.from(`${open.repeat(depth)}1${close.repeat(depth)}`)
    expect(() => parseJsonBody(nested(MAX_DEPTH))).not.toThrow()
    expect(() => parseJsonBody(nested(MAX_DEPTH + 1))).toThrow(/deeper than 32/)
  })

  it('cannot change a prototype', () => {
    const parsed = parseJsonBody(Buffer.from('{"__proto__":{"name":"n"},"constructor":{"prototype":{"tag":"t"}}}'))
    expect((parsed as { name?: unknown }).name).toBeUndefined()
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype)
    expect(({} as { tag?: unknown }).tag).toBeUndefined()
  })
})
