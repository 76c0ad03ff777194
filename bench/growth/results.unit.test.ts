import fc from 'fast-check'
import { expect, test } from 'vitest'
import { growthChart } from './chart.ts'
import { growthOf, type Measured } from './results.ts'

const micros = fc.double({ min: 1, max: 5_000, noNaN: true })

function sizeOf(plants: number, costs: readonly number[]): Measured {
  const cost = (api: number) => ({ perSecond: 1, cpuMicros: { api, Redis: 1 }, p50: 1, p99: 1 })
  return { plants, visits: costs.map((api) => ({ creates: cost(api), reads: cost(api) })) }
}

test('what else a round did to the machine plays no part in how a cost grows', () => {
  const rounds = fc.array(fc.tuple(micros, fc.double({ min: 0.5, max: 2, noNaN: true })), { minLength: 1 })
  fc.assert(
    fc.property(rounds, fc.double({ min: 0.5, max: 3, noNaN: true }), (costs, growth) => {
      // Each round is slower or faster as a whole; a Redis of 1 µs is taken off again.
      const small = sizeOf(
        1e4,
        costs.map(([cost, noise]) => cost * noise),
      )
      const large = sizeOf(
        1e6,
        costs.map(([cost, noise]) => (cost * noise + 1) * growth - 1),
      )
      const { median, min, max } = growthOf(small, large, 'creates')
      for (const ratio of [median, min, max]) expect(ratio).toBeCloseTo(growth, 6)
    }),
  )
})

test('the chart has each size where its cost is: the dearer, the higher', () => {
  fc.assert(
    fc.property(micros, micros, (one, other) => {
      const chart = growthChart([sizeOf(1e4, [one]), sizeOf(1e5, [other])])
      const [low = 0, high = 0] = [...chart.matchAll(/cy="([\d.]+)"/g)].map(([, y]) => Number(y))
      expect(Math.sign(low - high) * Math.sign(other - one)).toBeGreaterThanOrEqual(0)
      expect(chart).not.toMatch(/NaN|Infinity|undefined/)
    }),
  )
})
