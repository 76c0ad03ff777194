import { describe, expect, it } from 'vitest'
import { FAILURES_OF_EVERY_OPERATION } from '../openapi/operation.ts'
import { ERRORS, type Failure, headersOf } from './errors.ts'

const failures = Object.keys(ERRORS) as Failure[]

describe('the table of failures', () => {
  // errors-documented.unit compares the numbers with those that the documentation promises.
  it('gives each failure a number of its own', () => {
    expect(new Set(failures.map((failure) => ERRORS[failure][0])).size).toBe(failures.length)
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
