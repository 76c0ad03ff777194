import { expect, it } from 'vitest'
import type { Time } from '../runtime/time.ts'
import { createLatest } from './latest.ts'

/** A time that stands still until it is moved. */
function createTime(): Time & { move(ms: number): void } {
  let now = 0
  const timers: { at: number; callback: () => void }[] = []
  return {
    now: () => now,
    after(ms, callback) {
      timers.push({ at: now + ms, callback })
      return () => undefined
    },
    move(ms) {
      now += ms
      for (const { at, callback } of timers) if (at <= now) callback()
    },
  }
}

it('reads once for all who ask within the interval, and again after it', async () => {
  const time = createTime()
  let reads = 0
  const latest = createLatest(async () => ++reads, time, 1_000, 500)
  const value = { value: 1, ageMs: 0 }
  expect(await Promise.all([latest(), latest()])).toEqual([value, value])
  time.move(999)
  expect(await latest()).toEqual({ value: 1, ageMs: 999 })
  time.move(1)
  expect(await latest()).toEqual({ value: 2, ageMs: 0 })
})

it('returns the value before, with the error, when a read fails', async () => {
  const time = createTime()
  const results = [() => 'value', fail, () => 'another']
  const latest = createLatest(async () => results.shift()?.(), time, 1_000, 500)
  await latest()
  time.move(1_000)
  expect(await latest()).toEqual({ value: 'value', ageMs: 1_000, error: 'Redis is away' })
  time.move(1_000)
  expect(await latest()).toEqual({ value: 'another', ageMs: 0 })
})

it('does not wait longer than its patience for a read that hangs', async () => {
  const time = createTime()
  const latest = createLatest(() => new Promise<string>(() => undefined), time, 1_000, 500)
  const asked = latest()
  time.move(500)
  expect(await asked).toEqual({})
})

function fail(): never {
  throw new Error('Redis is away')
}
