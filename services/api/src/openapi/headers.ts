/** A header of OpenAPI's Parameter and Header Objects. */
export type Header = { description: string; schema: object; required?: true; example?: string | number }

/** The headers of requests. Only those whose invalid values are rejected have a pattern; others are ignored then. */
export const REQUEST_HEADERS = {
  'Idempotency-Key': {
    description:
      'An addition: makes the create safe to retry. The same key with the same plant is the same creation, however ' +
      'often it is sent. 1 to 255 ASCII characters: quoted, as a String of RFC 9651, or unquoted if all are visible.',
    schema: {
      type: 'string',
      pattern: '^([!#-~]{1,255}|"([ !#-\\[\\]-~]|\\\\["\\\\]){1,255}")$',
    },
  },
  'Plants-Position': {
    description:
      'An addition: the consistency token of an earlier response, or several, separated by commas. The response then ' +
      'reflects at least what those responses reflected, on every instance.',
    schema: { type: 'string', format: 'plants-position' },
  },
  'If-None-Match': {
    description:
      'An addition: the `ETag` of an earlier response, or several; 304 if the plant is still shown like that.',
    schema: { type: 'string' },
  },
  'X-Request-Id': {
    description:
      'An addition: the id of this request, 1 to 128 visible ASCII characters. It is in the response and in the log ' +
      'of the service. An invalid id is replaced by a new one.',
    schema: { type: 'string' },
  },
  traceparent: {
    description: 'An addition: W3C Trace Context. The event of a created plant belongs to the same trace.',
    schema: { type: 'string' },
  },
} as const satisfies Record<string, Header>

export type RequestHeader = keyof typeof REQUEST_HEADERS
export const REQUEST_HEADERS_OF_EVERY_OPERATION = ['X-Request-Id', 'traceparent'] as const

export const RESPONSE_HEADERS = {
  'Plants-Position': {
    description:
      'An addition: the consistency token, an opaque value. A read that sends it reflects at least what this response ' +
      'does.',
    schema: { type: 'string', format: 'plants-position' },
    example: '3-1729',
  },
  Location: {
    description: 'An addition: where the plant can be read.',
    schema: { type: 'string', format: 'uri-reference' },
    example: '/plants/7',
  },
  ETag: {
    description: 'An addition: the strong entity tag of what is shown, for `If-None-Match`.',
    schema: { type: 'string' },
    example: '"sOkhkmBLvD4XvJQ_TYVfJp"',
  },
  'Cache-Control': {
    description: 'An addition: a client may keep a plant. Failures and lists have `no-store`.',
    schema: { type: 'string' },
    example: 'private, max-age=86400, immutable',
  },
  Vary: {
    description: 'An addition, for browsers: a plant that one token may see must not be shown to another.',
    schema: { type: 'string' },
    example: 'Authorization',
  },
  'RateLimit-Policy': {
    description: 'An addition, if requests are limited: how many a caller may send in how many seconds.',
    schema: { type: 'string' },
    example: '"caller";q=600;w=60',
  },
  RateLimit: {
    description: 'An addition, if requests are limited: how many remain, until the count starts again in `t` seconds.',
    schema: { type: 'string' },
    example: '"caller";r=599;t=60',
  },
  'X-Request-Id': {
    description:
      'An addition: the id of this request: the one that was sent, or a new one. The response to an unreadable ' +
      'request has none.',
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
    example: 'GET, HEAD, POST',
  },
} as const satisfies Record<string, Header>

export type ResponseHeader = keyof typeof RESPONSE_HEADERS

/** The statuses of requests that are refused before they are counted. */
const BEFORE_THE_RATE_LIMIT: ReadonlySet<number> = new Set([401, 403, 405, 408, 417, 431])

/** The headers of every response with this status, in all operations. */
export function responseHeadersOf(status: number): ResponseHeader[] {
  const limit = BEFORE_THE_RATE_LIMIT.has(status) ? [] : (['RateLimit-Policy', 'RateLimit'] as const)
  const own: Partial<Record<number, ResponseHeader>> = {
    401: 'WWW-Authenticate',
    403: 'WWW-Authenticate',
    405: 'Allow',
    429: 'Retry-After',
    503: 'Retry-After',
  }
  const header = own[status]
  const cache = status >= 400 ? (['Cache-Control'] as const) : []
  return [...(header === undefined ? [] : [header]), ...cache, ...limit, 'X-Request-Id']
}
