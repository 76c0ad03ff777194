import { isUtf8 } from 'node:buffer'
import { parse } from 'lossless-json'
import { HttpError } from './errors.ts'

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const INT64_DIGITS = 19

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
  const significant = digits.replace(/0+$/, '')
  const zeros = Number(exponentText) - fraction.length + (digits.length - significant.length)
  if (zeros < 0 || significant.length + zeros > INT64_DIGITS) return new OtherNumber(text)
  return BigInt(sign + significant + '0'.repeat(zeros))
}

/** Parses a JSON body with every integer exact. Throws an HttpError for anything that is not JSON in UTF-8. */
export function parseJsonBody(body: Buffer): unknown {
  // Decoding would put U+FFFD in place of bad bytes, and a plant would get another name.
  if (!isUtf8(body)) throw new HttpError('malformedJson', 'the body is not valid UTF-8')
  try {
    return parse(body.toString(), undefined, exactInteger)
  } catch (error) {
    if (error instanceof RangeError) throw new HttpError('malformedJson', 'the body is nested too deeply')
    const { message } = error as Error
    throw new HttpError('malformedJson', `the body is not valid JSON: ${message.slice(0, 200)}`)
  }
}
