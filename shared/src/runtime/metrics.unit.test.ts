import fc from 'fast-check'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createMeter } from './metrics.ts'

it('a meter reads the items a second and the percentiles of the times since the last call', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const batches = fc.array(fc.record({ ms: fc.double({ min: 0.001, max: 60_000, noNaN: true }), count: fc.nat(9) }))
  const meter = createMeter()
  fc.assert(
    fc.property(batches, fc.integer({ min: 1, max: 10_000 }), (recorded, elapsedMs) => {
      for (const { ms, count } of recorded) meter.record(ms, count)
      vi.advanceTimersByTime(elapsedMs)
      const { perSecond, p50Ms, p99Ms } = meter.read()
      expect(perSecond).toBeCloseTo((recorded.reduce((sum, { count }) => sum + count, 0) * 1_000) / elapsedMs)
      const sorted = recorded.map(({ ms }) => ms).sort((a, b) => a - b)
      for (const [found, part] of [
        [p50Ms, 0.5],
        [p99Ms, 0.99],
      ] as const) {
        const exact = sorted[Math.ceil(part * sorted.length) - 1]
        if (exact === undefined) expect(found).toBeNull()
        else expect(found).toSatisfy((value: number) => Math.abs(value - exact) <= exact / 1_000 + 0.001)
      }
    }),
  )
})
