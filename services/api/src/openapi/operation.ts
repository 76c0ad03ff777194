import type { Failure } from '../http/errors.ts'
import type { RequestHeader, ResponseHeader } from './headers.ts'

/** What the description tells of an operation and its route's schemas can't say; given as the route's `config.operation`. */
export type OperationFacts = {
  /** What its 200 is. */
  answer: string
  /** What can go wrong beside what can with every operation. */
  failures: readonly Failure[]
  /** Those it reads beside those of every operation. */
  requestHeaders: readonly RequestHeader[]
  /** Those that its 200 has beside those of every answer. */
  responseHeaders: readonly ResponseHeader[]
  /** Bodies to begin with, by name; ids may be bigints, here and in the answer. */
  bodyExamples?: Record<string, { summary: string; value: unknown }>
  answerExample: unknown
  /** What can be asked next with what this operation was sent or answered, by name. */
  links?: Record<string, object>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: OperationFacts
  }
}

/** For a route that says nothing of itself. */
export const NO_FACTS: OperationFacts = {
  answer: 'Success',
  failures: [],
  requestHeaders: [],
  responseHeaders: [],
  answerExample: undefined,
}

/** What can go wrong with every operation, whatever it does. */
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
