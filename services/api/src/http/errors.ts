import { Type } from 'typebox'

/** The Error of the specification, the body of every failure. */
export const ErrorBody = Type.Object(
  {
    error: Type.Integer({
      format: 'int32',
      minimum: -(2 ** 31),
      maximum: 2 ** 31 - 1,
      description: 'Numeric error value',
    }),
    message: Type.String({ description: 'Error message text' }),
  },
  { title: 'Error' },
)

/**
 * The closed table of failures: the `error` number, which clients may rely on (its first three digits are the HTTP
 * status), and the default message, with the fault and the remedy.
 */
export const ERRORS = {
  malformedRequest: [40000, 'the HTTP request is malformed'],
  malformedJson: [40001, 'the body is not valid JSON in UTF-8'],
  invalidPlant: [40002, 'the plant is invalid'],
  duplicateId: [40003, 'duplicate id: this id is already used; use another id'],
  invalidId: [
    40004,
    'the id in the path is invalid; it must be an integer in plain decimal, such as 7, from -9223372036854775808 to ' +
      '9223372036854775807',
  ],
  invalidIdempotencyKey: [
    40005,
    'the `Idempotency-Key` header is invalid; send one key of 1 to 255 ASCII characters, with or without quotes',
  ],
  invalidPosition: [
    40006,
    'the `Plants-Position` header is invalid; send values of earlier responses, unchanged and separated by commas',
  ],
  invalidLimit: [40007, 'the limit is invalid; it must be an integer from 1 to 1000'],
  invalidCursor: [40008, 'the cursor is invalid; send `next` of an earlier page, unchanged'],
  missingToken: [40100, 'no bearer token; send the header "Authorization: Bearer <token>"'],
  invalidToken: [40101, 'the bearer token is invalid; get a new one'],
  insufficientScope: [40300, 'the bearer token lacks the scope that this operation needs'],
  noSuchRoute: [40400, 'unknown path; create plants with POST /plants'],
  noSuchPlant: [40401, 'no plant has this id'],
  methodNotAllowed: [40500, 'this path does not support the method; use one of the Allow header'],
  requestTimeout: [40800, 'the request did not arrive in time'],
  bodyTooLarge: [41300, 'the body is too large'],
  unsupportedMediaType: [
    41500,
    'the media type is not supported; send "content-type: application/json" and no content-encoding',
  ],
  expectationFailed: [41700, 'the expectation is not supported; use "100-continue" or none'],
  tooManyRequests: [42900, 'too many requests of this caller; try again after the time in Retry-After'],
  headersTooLarge: [43100, 'the request headers are too large'],
  internal: [50000, 'internal error; report it to the operators, with the X-Request-Id'],
  unreadablePlant: [
    50001,
    'the event that has claimed this id cannot be read by this release; ask the operators whether an upgrade helps',
  ],
  unavailable: [50300, 'this instance of the service is stopping; try again on another connection'],
  notWritten: [50301, 'not written: this attempt stored nothing; try again'],
  outcomeUnknown: [
    50302,
    'outcome unknown: the plant may be stored or not; try again with the same Idempotency-Key to find out',
  ],
  coverageGap: [50303, 'the current state is not known at the moment; the request changed nothing; try again'],
  overloaded: [50304, 'the service is overloaded; the request changed nothing; try again'],
  tokensUncheckable: [50305, 'bearer tokens cannot be checked at the moment; the request changed nothing; try again'],
} as const satisfies Record<string, readonly [number, string]>

export type Failure = keyof typeof ERRORS

/** A failure of the table. Handlers and hooks throw it; the error handler sends the response. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly failure: Failure
  readonly headers: Record<string, string>

  /** `cause` goes to the log only. */
  constructor(
    failure: Failure,
    message: string = ERRORS[failure][1],
    headers: Record<string, string> = {},
    cause?: unknown,
  ) {
    super(message, { cause })
    this.failure = failure
    this.headers = headers
  }
}

export function statusOf(failure: Failure): number {
  return Math.floor(ERRORS[failure][0] / 100)
}

export function bodyOf(failure: Failure, message: string = ERRORS[failure][1]) {
  return { error: ERRORS[failure][0], message }
}

/** Seconds after which a client should try again. */
const RETRY_AFTER_SECONDS = '1'

/** A cache must not keep a failure: a missing plant can be created, and by default a cache may keep a 404 or a 405. */
export function headersOf(failure: Failure): Record<string, string> {
  return { 'cache-control': 'no-store', ...(statusOf(failure) === 503 && { 'retry-after': RETRY_AFTER_SECONDS }) }
}
