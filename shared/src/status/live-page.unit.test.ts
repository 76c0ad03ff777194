import { expect, it, onTestFinished, vi } from 'vitest'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { createLivePage } from './live-page.ts'

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000

it('a page gets the samples of the last 15 minutes that it does not have, also when the clock is set back', async () => {
  vi.useFakeTimers({ now: HOUR_MS })
  onTestFinished(() => void vi.useRealTimers())
  const { pages, showSamples } = createLivePage({ service: 'api', version: '1', readiness: () => [], log: quietLog })
  let sampled = 0
  const { close } = showSamples(() => ({ rate: ++sampled }))
  onTestFinished(close)
  const ratesSince = async (time: number) => {
    const response = await pages.get('/live')?.(new URLSearchParams({ since: String(time) }))
    return JSON.parse(response?.body ?? '').samples.map(({ rate }: { rate: number }) => rate)
  }
  expect(await ratesSince(0)).toEqual([])
  await vi.advanceTimersByTimeAsync(1_000 * SECOND_MS)
  expect(await ratesSince(0)).toEqual(Array.from({ length: 900 }, (_, n) => n + 101))
  expect(await ratesSince(Date.now() - 2 * SECOND_MS)).toEqual([999, 1_000])
  vi.setSystemTime(Date.now() - 897.5 * SECOND_MS)
  await vi.advanceTimersByTimeAsync(SECOND_MS)
  // Samples of times that are still to come are forgotten.
  for (const since of [0, Date.now() + HOUR_MS]) expect(await ratesSince(since)).toEqual([101, 102, 103, 1_001])
})
