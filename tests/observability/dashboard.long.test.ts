import { expect, it, vi } from 'vitest'
import { ROWS } from '../../deploy/observability/dashboard.ts'
import { readPlant } from '../support/client.ts'
import { findPrometheus, type Programs } from './prometheus.ts'
import { RANGE, startWatchedStore } from './watched-store.ts'

const WAIT = { timeout: 60_000, interval: 100 }

const programs = await findPrometheus()

it.runIf(programs !== undefined)('every query of every panel brings data', async () => {
  const { api, prometheus } = await startWatchedStore(programs as Programs)
  await readPlant(api.url, 1n)
  // Not found: an error to show.
  await readPlant(api.url, -1n)
  const figures: string[] = []
  for (const [row, panels] of Object.entries(ROWS))
    for (const { title, queries } of panels)
      for (const [expression, legend] of queries)
        await vi.waitFor(async () => {
          const values = await prometheus.values(expression.replaceAll('$__rate_interval', RANGE))
          expect(values.filter(Number.isFinite), expression).not.toEqual([])
          figures.push(`| ${row} | ${title} | ${legend} | ${values.map((value) => value.toPrecision(3)).join(' ')} |`)
        }, WAIT)
  console.log(figures.join('\n'))
})
