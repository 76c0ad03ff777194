/** A header as OpenAPI's Parameter and Header Objects have it. */
export type Header = { description: string; schema: object; required?: true; example?: string | number }

/**
 * Headers of requests. Only those whose wrong values are refused have a pattern: with the others a wrong value is
 * left alone.
 */
export const REQUEST_HEADERS = {
  'Idempotency-Key': {
    description:
      'An addition: makes the create safe to retry: the same key with the same plant is the same creation, however often it is ' +
      'sent. 1 to 255 ASCII characters between quotes, as a String of RFC 9651, or without quotes if they are visible.',
    schema: {
      type: 'string',
      pattern: '^([!#-~]{1,255}|"([ !#-\\[\\]-~]|\\\\["\\\\]){1,255}")$',
    },
  },
  'Plants-Position': {
    description:
      'An addition: a `Plants-Position` as an earlier answer gave it, or several, separated by commas. The answer then ' +
      'knows at least what those knew, whichever instance gives it.',
    schema: { type: 'string', format: 'plants-position' },
  },
  'X-Request-Id': {
    description:
      'An addition: a name for this request, 1 to 128 visible ASCII characters. It comes back with the answer and is in ' +
      'the log of the service. Anything else is left alone, and the request gets another name.',
    schema: { type: 'string' },
  },
  traceparent: {
    description: 'An addition: W3C Trace Context. A valid one travels on with the event of a created plant.',
    schema: { type: 'string' },
  },
} as const satisfies Record<string, Header>

export type RequestHeader = keyof typeof REQUEST_HEADERS
export const REQUEST_HEADERS_OF_EVERY_OPERATION = ['X-Request-Id', 'traceparent'] as const

/** Headers of answers. */
export const RESPONSE_HEADERS = {
  'Plants-Position': {
    description:
      'An addition: where in the log is what this answer tells; opaque. Send it with a read, and its answer knows at least that much.',
    schema: { type: 'string', format: 'plants-position' },
    example: '3-1729',
  },
  'X-Request-Id': {
    description:
      'An addition: the name of this request, the one that it came with, or a new one. A request that could not even be ' +
      'read has none.',
    schema: { type: 'string' },
  },
  'WWW-Authenticate': {
    description: 'An addition: the challenge of RFC 6750.',
    required: true,
    schema: { type: 'string' },
    example: 'Bearer realm="plants", error="invalid_token"',
  },
  'Retry-After': {
    description: 'An addition: seconds after which to try again.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
    example: 1,
  },
  Allow: {
    description: 'An addition: the methods that this path supports.',
    required: true,
    schema: { type: 'string' },
    example: 'POST',
  },
} as const satisfies Record<string, Header>

export type ResponseHeader = keyof typeof RESPONSE_HEADERS

/** The headers that an answer of this status has, whatever the operation. */
export function responseHeadersOf(status: number): ResponseHeader[] {
  const own: Partial<Record<number, ResponseHeader>> = {
    401: 'WWW-Authenticate',
    403: 'WWW-Authenticate',
    405: 'Allow',
    429: 'Retry-After',
    503: 'Retry-After',
  }
  const header = own[status]
  return header === undefined ? ['X-Request-Id'] : [header, 'X-Request-Id']
}
