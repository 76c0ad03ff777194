import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLatest } from './latest.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('reads once for all who ask within the interval, and again after it', async () => {
  let reads = 0
  const latest = createLatest(async () => ++reads)
  const value = { value: 1, ageMs: 0 }
  expect(await Promise.all([latest(), latest()])).toEqual([value, value])
  vi.advanceTimersByTime(999)
  expect(await latest()).toEqual({ value: 1, ageMs: 999 })
  vi.advanceTimersByTime(1)
  expect(await latest()).toEqual({ value: 2, ageMs: 0 })
})

it('returns the value before, with the error, when a read fails', async () => {
  const results = [() => 'value', fail, () => 'another']
  const latest = createLatest(async () => results.shift()?.())
  await latest()
  vi.advanceTimersByTime(1_000)
  expect(await latest()).toEqual({ value: 'value', ageMs: 1_000, error: 'Redis is away' })
  vi.advanceTimersByTime(1_000)
  expect(await latest()).toEqual({ value: 'another', ageMs: 0 })
})

it('does not wait longer than its patience for a read that hangs', async () => {
  const latest = createLatest(() => new Promise<string>(() => undefined))
  const asked = latest()
  vi.advanceTimersByTime(500)
  expect(await asked).toEqual({})
})

function fail(): never {
  throw new Error('Redis is away')
}
