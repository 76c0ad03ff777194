import fc from 'fast-check'
import { Counter, Histogram } from 'prom-client'
import { expect, it } from 'vitest'
import { growthOf, rateOf } from './metrics.ts'

const BOUNDS = [0.01, 0.1, 1]
const seconds = fc.array(fc.double({ min: 0, max: 2, noNaN: true }), { maxLength: 50 })

it('the growth of a histogram has percentiles within the bucket that they are in', async () => {
  await fc.assert(
    fc.asyncProperty(seconds, seconds, async (before, after) => {
      const histogram = new Histogram({ name: 'test', help: 'test', buckets: BOUNDS, registers: [] })
      const growth = growthOf(histogram)
      for (const value of before) histogram.observe(value)
      await growth()
      for (const value of after) histogram.observe(value)
      const { perSecond, p50Ms, p99Ms } = await growth()
      expect(perSecond > 0).toBe(after.length > 0)
      expectWithinBucket(p50Ms, after, 0.5)
      expectWithinBucket(p99Ms, after, 0.99)
    }),
  )
})

function expectWithinBucket(foundMs: number | null, values: readonly number[], quantile: number): void {
  const exact = values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(quantile * values.length) - 1)]
  if (exact === undefined) {
    expect(foundMs).toBeNull()
    return
  }
  const upper = BOUNDS.find((bound) => exact <= bound) ?? 1
  const lower = exact > 1 ? 1 : (BOUNDS[BOUNDS.indexOf(upper) - 1] ?? 0)
  expect(foundMs).toBeGreaterThanOrEqual(lower * 1_000)
  expect(foundMs).toBeLessThanOrEqual(upper * 1_000 + 1e-6)
}

it('the rate of a counter is its growth since the last call', async () => {
  const counter = new Counter({ name: 'test', help: 'test', labelNames: ['kind'], registers: [] })
  const rate = rateOf(counter)
  counter.inc({ kind: 'a' }, 3)
  counter.inc({ kind: 'b' }, 4)
  expect(await rate()).toBeGreaterThan(0)
  expect(await rate()).toBe(0)
})
