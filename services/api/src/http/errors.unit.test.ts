import { Value } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { FAILURES_OF_EVERY_OPERATION } from '../openapi/operation.ts'
import { bodyOf, ERRORS, ErrorBody, type Failure, HttpError, headersOf, statusOf } from './errors.ts'

const failures = Object.keys(ERRORS) as Failure[]

describe('the table of failures', () => {
  it('has stable numbers, which clients rely on', () => {
    expect(Object.fromEntries(failures.map((failure) => [failure, ERRORS[failure][0]]))).toEqual({
      malformedRequest: 40000,
      malformedJson: 40001,
      invalidPlant: 40002,
      duplicateId: 40003,
      invalidId: 40004,
      invalidIdempotencyKey: 40005,
      invalidPosition: 40006,
      invalidLimit: 40007,
      invalidCursor: 40008,
      missingToken: 40100,
      invalidToken: 40101,
      insufficientScope: 40300,
      noSuchRoute: 40400,
      noSuchPlant: 40401,
      methodNotAllowed: 40500,
      requestTimeout: 40800,
      bodyTooLarge: 41300,
      unsupportedMediaType: 41500,
      expectationFailed: 41700,
      tooManyRequests: 42900,
      headersTooLarge: 43100,
      internal: 50000,
      unreadablePlant: 50001,
      unavailable: 50300,
      notWritten: 50301,
      outcomeUnknown: 50302,
      coverageGap: 50303,
      overloaded: 50304,
      tokensUncheckable: 50305,
    })
  })

  it('gives each failure a number of its own', () => {
    expect(new Set(failures.map((failure) => ERRORS[failure][0])).size).toBe(failures.length)
  })

  it.each(failures)('describes %s as an Error of the specification, with the status in its number', (failure) => {
    const body = bodyOf(failure)
    expect(Value.Check(ErrorBody, body)).toBe(true)
    expect(body.error | 0).toBe(body.error)
    expect(body.message).not.toBe('')
    expect(statusOf(failure)).toBe(Number(String(body.error).slice(0, 3)))
  })

  it('has Retry-After for exactly those failures after which a retry helps', () => {
    const withRetry = failures.filter((failure) => headersOf(failure)['retry-after'] !== undefined)
    expect(withRetry).toEqual([
      'unavailable',
      'notWritten',
      'outcomeUnknown',
      'coverageGap',
      'overloaded',
      'tokensUncheckable',
    ])
  })
})

it('failures that reads and creates share speak of neither', () => {
  for (const failure of [...FAILURES_OF_EVERY_OPERATION, 'coverageGap'] as const)
    expect(ERRORS[failure][1]).not.toMatch(/stored|this id/)
})

describe('an HttpError', () => {
  it('has the message of the table unless it has a more specific one', () => {
    expect(new HttpError('invalidId').message).toBe(ERRORS.invalidId[1])
    expect(new HttpError('invalidPlant', 'name is missing').message).toBe('name is missing')
    expect(bodyOf('invalidPlant', 'name is missing')).toEqual({ error: 40002, message: 'name is missing' })
  })
})
