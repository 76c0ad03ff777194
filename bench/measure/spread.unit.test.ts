import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ratioOf, spreadOf } from './spread.ts'

it('a median is in the middle, whatever the order: at least half of the values are on each side', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { minLength: 1, maxLength: 20 }), (all) => {
      const { median: middle, min, max, rounds } = spreadOf(all)
      expect(all.filter((each) => each <= middle).length * 2).toBeGreaterThanOrEqual(all.length)
      expect(all.filter((each) => each >= middle).length * 2).toBeGreaterThanOrEqual(all.length)
      expect([min, max, rounds]).toEqual([Math.min(...all), Math.max(...all), all.length])
      expect(spreadOf(all.toReversed())).toEqual(spreadOf(all))
    }),
  )
})

it('a ratio is that of each round, so a slow round changes nothing', () => {
  const rates = fc.array(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), { minLength: 1 })
  fc.assert(
    fc.property(rates, fc.double({ min: 0.1, max: 10, noNaN: true }), (wholes, ratio) => {
      const parts = wholes.map((whole) => whole * ratio)
      const { min, max, median: middle } = ratioOf(parts, wholes)
      for (const each of [min, middle, max]) expect(each).toBeCloseTo(ratio, 6)
      expect(() => ratioOf(parts.slice(1), wholes)).toThrow('rounds against')
    }),
  )
})
