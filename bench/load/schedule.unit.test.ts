import fc from 'fast-check'
import { expect, it } from 'vitest'
import { arrivals } from './schedule.ts'

const seed = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const rate = fc.double({ min: 1, max: 100_000, noNaN: true })
const ARRIVALS = 10_000

function first(count: number, ratePerSecond: number, from: number): number[] {
  const due = arrivals(ratePerSecond, from)
  return Array.from({ length: count }, () => due.next().value)
}

it('a schedule of arrivals is the same for the same seed, and another for another', () => {
  fc.assert(
    fc.property(rate, seed, (perSecond, from) => {
      expect(first(50, perSecond, from)).toEqual(first(50, perSecond, from))
      expect(first(50, perSecond, from)).not.toEqual(first(50, perSecond, from ^ 1))
    }),
  )
})

it('a schedule has the rate and the gaps of a Poisson process: as long on average as their deviation', () => {
  fc.assert(
    fc.property(rate, seed, (perSecond, from) => {
      const due = first(ARRIVALS, perSecond, from)
      const gaps = due.map((ms, n) => ms - (due[n - 1] ?? 0))
      expect(gaps.every((gap) => gap >= 0)).toBe(true)
      const mean = gaps.reduce((sum, gap) => sum + gap, 0) / ARRIVALS
      const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / ARRIVALS)
      // The mean of 10,000 gaps has a standard error of 1 %. An error of 7 % practically never happens.
      expect(Math.abs((mean * perSecond) / 1_000 - 1)).toBeLessThan(0.07)
      expect(Math.abs(deviation / mean - 1)).toBeLessThan(0.15)
    }),
    { numRuns: 50 },
  )
})
