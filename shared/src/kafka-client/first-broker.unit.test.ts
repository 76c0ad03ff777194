import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { firstOf } from './first-broker.ts'

describe('the first of several attempts', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const hanging = () => new Promise<string>(() => {})
  const failing = (error: object) => () => Promise.reject(error)
  const refusal = { retriable: false }

  it('begins the next attempt after 500 ms', async () => {
    const next = vi.fn(async () => 'second')
    const result = firstOf([hanging, next])
    await vi.advanceTimersByTimeAsync(499)
    expect(next).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(await result).toBe('second')
  })

  it('begins the next attempt at once when one fails, and none after one has succeeded', async () => {
    const last = vi.fn(hanging)
    expect(await firstOf([failing({}), async () => 'second', last])).toBe('second')
    await vi.advanceTimersByTimeAsync(10_000)
    expect(last).not.toHaveBeenCalled()
  })

  it('is the error code that a broker responds with', async () => {
    const answer = { type: 'UNKNOWN_TOPIC_OR_PARTITION', apiKey: 3 }
    await expect(firstOf([failing({}), failing(answer), async () => 'third'])).rejects.toBe(answer)
  })

  it('is not the error code of a login that a broker refuses', async () => {
    const refused = { type: 'ILLEGAL_SASL_STATE', apiKey: 17 }
    expect(await firstOf([failing(refused), async () => 'second'])).toBe('second')
  })

  it('fails when all have failed, with what an operator has to correct if one says so', async () => {
    await expect(firstOf([failing({}), failing(refusal), failing({})])).rejects.toBe(refusal)
  })
})
