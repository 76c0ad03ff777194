import type { Failure } from '../http/errors.ts'
import type { RequestHeader, ResponseHeader } from './headers.ts'

/** The facts of an operation that the schemas of its route cannot express; the route has them in `config.operation`. */
export type OperationFacts = {
  /** The description of its 200 response. */
  response: string
  /** The headers of that response, besides those of every one. With an ETag, the operation can respond 304, too. */
  responseHeaders?: readonly ResponseHeader[]
  /** Its failures, besides those of every operation. */
  failures: readonly Failure[]
  /** The headers that it reads, besides those of every operation. */
  requestHeaders: readonly RequestHeader[]
  /** Examples of the body, by name. Ids may be bigints, here and in the response. */
  bodyExamples?: Record<string, { summary: string; value: unknown }>
  responseExample: unknown
  /** Follow-up operations that use values of this one, by name. */
  links?: Record<string, object>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: OperationFacts
  }
}

export const FAILURES_OF_EVERY_OPERATION = [
  'malformedRequest',
  'missingToken',
  'invalidToken',
  'insufficientScope',
  'methodNotAllowed',
  'requestTimeout',
  'bodyTooLarge',
  'unsupportedMediaType',
  'expectationFailed',
  'tooManyRequests',
  'headersTooLarge',
  'internal',
  'unavailable',
  'overloaded',
  'tokensUncheckable',
] as const satisfies readonly Failure[]
