import { Type } from 'typebox'

/** The Error of the specification; every failure answers in this shape. */
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
 * The closed table of what can go wrong: the `error` number that clients may rely on (its first three
 * digits are the HTTP status), and the message where it is always the same.
 */
export const ERRORS = {
  malformedRequest: [40000, 'the HTTP request is malformed'],
  malformedJson: [40001, 'the body is not valid JSON in UTF-8'],
  invalidPlant: [40002, 'the plant is invalid'],
  duplicateId: [40003, 'duplicate id: a plant with this id exists already'],
  invalidId: [
    40004,
    'the id in the path must be an integer between -9223372036854775808 and 9223372036854775807',
  ],
  invalidIdempotencyKey: [
    40005,
    'Idempotency-Key must be one key of 1 to 255 ASCII characters, with or without quotes',
  ],
  invalidPosition: [40006, 'Plants-Position must be as earlier answers gave it, several joined with commas'],
  invalidLimit: [40007, 'limit must be an integer between 1 and 1000'],
  invalidCursor: [40008, 'cursor must be the `next` of an earlier list of plants'],
  missingToken: [40100, 'authenticate with the header "Authorization: Bearer <token>"'],
  invalidToken: [40101, 'the bearer token is not valid'],
  insufficientScope: [40300, 'the bearer token does not have the scope that this operation needs'],
  noSuchRoute: [40400, 'there is nothing at this path; plants are created by POST /plants'],
  noSuchPlant: [40401, 'there is no plant with this id'],
  methodNotAllowed: [40500, 'this path does not support this method; see the Allow header'],
  requestTimeout: [40800, 'the request did not arrive in time'],
  bodyTooLarge: [41300, 'the body is too large'],
  unsupportedMediaType: [
    41500,
    'send the plant as "content-type: application/json", without content-encoding',
  ],
  expectationFailed: [41700, 'the only expectation supported is "100-continue"'],
  tooManyRequests: [42900, 'too many requests of this client; try again after the time in Retry-After'],
  headersTooLarge: [43100, 'the request headers are too large'],
  internal: [50000, 'something went wrong here; the server log tells more'],
  unreadablePlant: [
    50001,
    'this id is taken by an event that this release can not read; a newer release may',
  ],
  unavailable: [50300, 'the service is starting or stopping; try again'],
  notWritten: [50301, 'not written: nothing was stored by this attempt; try again'],
  outcomeUnknown: [
    50302,
    'outcome unknown: the plant may or may not have been stored; a retry with the same Idempotency-Key tells which',
  ],
  coverageGap: [50303, 'the store can not tell at the moment; nothing was stored; try again'],
  overloaded: [50304, 'too much is under way already; nothing was stored by this attempt; try again'],
  tokensUncheckable: [
    50305,
    'the bearer token can not be checked at the moment; nothing was stored; try again',
  ],
} as const satisfies Record<string, readonly [number, string]>

export type Failure = keyof typeof ERRORS

/** A failure with an answer of its own. Thrown by handlers and hooks; the error handler answers it. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly failure: Failure
  readonly headers: Record<string, string>

  /** `cause` is for the log alone. */
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

/** Seconds after which a client may well try again. */
const RETRY_AFTER_SECONDS = '1'

export function headersOf(failure: Failure): Record<string, string> {
  return statusOf(failure) === 503 ? { 'retry-after': RETRY_AFTER_SECONDS } : {}
}
