import { isUtf8 } from 'node:buffer'
import { jsonStructureOf } from '@plant-store/shared/plant/payload.ts'
import { parse } from 'lossless-json'
import { HttpError } from './errors.ts'

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const INT64_DIGITS = 19
const MOST_SAID_CHARACTERS = 200

/** A number in a body that is no integer of at most 19 digits; schemas refuse it as a value of any field. */
export class OtherNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * The number as a bigint if it is an integer, however it is written (JSON Schema: 1.0, 1e3 and -0 are
 * integers). Digits are counted before any are made, so that 1e999999999 allocates nothing.
 */
export function exactInteger(text: string): bigint | OtherNumber {
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = NUMBER.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return 0n
  const significant = withoutTrailingZeros(digits)
  const zeros = Number(exponentText) - fraction.length + (digits.length - significant.length)
  if (zeros < 0 || significant.length + zeros > INT64_DIGITS) return new OtherNumber(text)
  return BigInt(sign + significant + '0'.repeat(zeros))
}

// Not /0+$/: it begins again at each zero of a run that is not the last, 25 s for 65,000 of them.
function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}

/**
 * Parses a JSON body with every integer exact. Throws an HttpError for anything that is not JSON in UTF-8, is nested
 * deeper than `maxDepth` objects and lists, or has an object with a key twice (RFC 8259, 4: what it means is anybody's guess).
 */
export function parseJsonBody(body: Buffer, maxDepth: number): unknown {
  if (body.length === 0) throw new HttpError('malformedJson', 'the body is empty')
  // Decoding would put U+FFFD in place of bad bytes, and a plant would get another name.
  if (!isUtf8(body)) throw new HttpError('malformedJson', 'the body is not valid UTF-8')
  const { depth, members } = jsonStructureOf(body)
  // Before parsing, which is recursive.
  if (depth > maxDepth)
    throw new HttpError('malformedJson', `the body is nested deeper than ${maxDepth} objects and lists`)
  let value: unknown
  try {
    value = parse(body.toString(), undefined, exactInteger)
  } catch (error) {
    const { message } = error as Error
    throw new HttpError(
      'malformedJson',
      `the body is not valid JSON: ${message.slice(0, MOST_SAID_CHARACTERS)}`,
    )
  }
  // The parser refuses a key that comes again only if its value is another.
  if (membersOf(value) !== members)
    throw new HttpError('malformedJson', 'an object in the body has a key twice')
  return value
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof OtherNumber) return 0
  const held = Object.values(value)
  const own = Array.isArray(value) ? 0 : held.length
  return held.reduce((count: number, inner) => count + membersOf(inner), own)
}
