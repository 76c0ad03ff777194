import { HttpError } from '../http/errors.ts'

const MAX_KEY_CHARACTERS = 255
/** A String of RFC 9651, 3.3.3: `\"` and `\\` are the only escapes. */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
/** Visible ASCII but the quote. */
const BARE = /^[\x21\x23-\x7e]+$/

/**
 * The key in an Idempotency-Key header as draft-ietf-httpapi-idempotency-key-header has it, a String without parameters,
 * or without quotes; both spellings of a key are the same key. Undefined when the client sent none. Throws an
 * HttpError for anything else.
 */
export function parseIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const key = typeof header === 'string' ? unquote(header) : undefined
  if (key === undefined || key.length < 1 || key.length > MAX_KEY_CHARACTERS) {
    throw new HttpError('invalidIdempotencyKey')
  }
  return key
}

function unquote(header: string): string | undefined {
  if (BARE.test(header)) return header
  return QUOTED.exec(header)?.[1]?.replace(/\\(["\\])/g, '$1')
}
