import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createHistory } from './history.ts'

it('keeps the newest samples, and returns those that are newer than a time', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.nat(40), fc.nat(45), (maxSamples, count, since) => {
      const history = createHistory(maxSamples)
      const times = Array.from({ length: count }, (_, n) => n + 1)
      for (const time of times) history.add({ time, rate: 2 * time, p99Ms: null })
      const expected = times.slice(-maxSamples).filter((time) => time > since)
      expect(history.since(since)).toEqual(expected.map((time) => ({ time, rate: 2 * time, p99Ms: null })))
    }),
  )
})

it('forgets the times that are still to come when the clock is set back', () => {
  const history = createHistory()
  for (const time of [100, 200, 300, 150]) history.add({ time })
  expect(history.since(0)).toEqual([{ time: 100 }, { time: 150 }])
})
