import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { median, ratioOf, spreadOf } from './spread.ts'

const positive = fc.double({ min: 1e-6, max: 1e9, noNaN: true })
/** Without -0: it compares equal to 0, so their order is not defined. */
const value = fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0))
const values = fc.array(value, { minLength: 1, maxLength: 20 })

describe('a spread', () => {
  it('has its median in the middle: as many values are not above it as not below it, and at least half', () => {
    fc.assert(
      fc.property(values, (all) => {
        const { median: middle, min, max, rounds } = spreadOf(all)
        expect(all.filter((value) => value <= middle).length * 2).toBeGreaterThanOrEqual(all.length)
        expect(all.filter((value) => value >= middle).length * 2).toBeGreaterThanOrEqual(all.length)
        expect([min, max, rounds]).toEqual([Math.min(...all), Math.max(...all), all.length])
      }),
    )
  })

  it.each([5e-324, 1e308])('of two values of %d has that median', (value) => {
    expect(median([value, value])).toBe(value)
  })

  it('does not depend on the order of the rounds', () => {
    fc.assert(
      fc.property(values, fc.infiniteStream(fc.nat()), (all, keys) => {
        const keyed = all.map((value) => [keys.next().value, value] as const)
        const shuffled = keyed.toSorted(([a], [b]) => a - b).map(([, value]) => value)
        expect(spreadOf(shuffled)).toEqual(spreadOf(all))
      }),
    )
  })

  it('of no values is refused', () => {
    expect(() => median([])).toThrow('no values')
  })
})

describe('a ratio', () => {
  it('is that of each round, so what slows a whole round down changes nothing', () => {
    const rounds = fc.array(fc.tuple(positive, fc.double({ min: 0.01, max: 1, noNaN: true })), {
      minLength: 1,
    })
    fc.assert(
      fc.property(rounds, fc.double({ min: 0.1, max: 10, noNaN: true }), (sample, ratio) => {
        const wholes = sample.map(([rate, slowedBy]) => rate * slowedBy)
        const parts = wholes.map((whole) => whole * ratio)
        const { min, max, median: middle } = ratioOf(parts, wholes)
        for (const each of [min, middle, max]) expect(each).toBeCloseTo(ratio, 6)
      }),
    )
  })

  it('of different numbers of rounds is refused', () => {
    expect(() => ratioOf([1, 2], [1])).toThrow('2 rounds against 1')
  })
})
