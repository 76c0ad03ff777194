import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createFetchPace } from './fetch-pace.ts'

const PACE = { records: 32, shortestMs: 12, longestMs: 50 }

/** Fetches for a second at a steady rate; returns how many records the last fetch had, and the wait after it. */
function fetchAt(recordsPerS: number) {
  let nowMs = 0
  const waitAfter = createFetchPace(PACE, { now: () => nowMs })
  let [waitMs, fetched, total] = [0, 0, 0]
  while (nowMs < 1_000) {
    fetched = Math.round((recordsPerS * nowMs) / 1_000) - total
    total += fetched
    waitMs = waitAfter(fetched)
    nowMs += waitMs
  }
  return { waitMs, fetched }
}

it('a fetch has the wanted records at a medium rate, and waits within the limits at any rate', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000 }), (recordsPerS) => {
      const { waitMs, fetched } = fetchAt(recordsPerS)
      if (recordsPerS < 400) expect(waitMs).toBe(PACE.longestMs)
      else if (recordsPerS > 4_000) expect(waitMs).toBe(PACE.shortestMs)
      else if (recordsPerS > 800 && recordsPerS < 2_000) expect(Math.abs(fetched - PACE.records)).toBeLessThan(9)
      expect(waitMs).toBeGreaterThanOrEqual(PACE.shortestMs)
      expect(waitMs).toBeLessThanOrEqual(PACE.longestMs)
    }),
  )
})
