import fc from 'fast-check'
import { expect, it } from 'vitest'
import { sharesOf } from './threads.ts'

it('threads share the seeds: each seed is played once', () => {
  fc.assert(
    fc.property(fc.nat(300), fc.integer({ min: 1, max: 100 }), (count, threads) => {
      const played = sharesOf(1, count, threads).flatMap(({ from, count }) => {
        expect(count).toBeGreaterThanOrEqual(0)
        return Array.from({ length: count }, (_, n) => from + n)
      })
      expect(played).toEqual(Array.from({ length: count }, (_, n) => n + 1))
    }),
  )
})
