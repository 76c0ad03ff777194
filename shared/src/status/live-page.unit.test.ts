import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { createLivePage } from './live-page.ts'

const HOUR_MS = 3_600_000

it('a page with samples from before the clock was set back gets those that there are', async () => {
  const { pages, showSamples } = createLivePage({ service: 'api', version: '1', readiness: () => [], log: quietLog })
  const { close } = showSamples(() => ({ rate: 1 }))
  onTestFinished(close)
  const query = new URLSearchParams({ since: String(Date.now() + HOUR_MS) })
  await eventually(async () => {
    const response = await pages.get('/live')?.(query)
    expect(JSON.parse(response?.body ?? '{"samples":[]}').samples[0]).toMatchObject({ rate: 1 })
  })
})
