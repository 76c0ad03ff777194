import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { dashboardJson } from '../../deploy/observability/dashboard.ts'

it('the dashboard in the repository is up to date: npm run describe', () => {
  const written = readFileSync(new URL('../../deploy/observability/dashboard.json', import.meta.url), 'utf8')
  expect(written).toBe(dashboardJson())
})
