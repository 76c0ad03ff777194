import { Value } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { FAILURES_OF_EVERY_OPERATION } from '../openapi/operation.ts'
import { bodyOf, ERRORS, ErrorBody, type Failure, headersOf, statusOf } from './errors.ts'

const failures = Object.keys(ERRORS) as Failure[]

describe('the table of failures', () => {
  // errors-documented.unit compares the numbers with those that the documentation promises.
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
