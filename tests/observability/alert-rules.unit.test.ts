import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ALERTS } from './alert-rules.ts'

it('every alert has a section in its runbook, and every section an alert', () => {
  const runbook = readFileSync(new URL('../../docs/how-to/alerts.md', import.meta.url), 'utf8')
  const sections = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name)
  expect(sections).toEqual([...ALERTS.keys()])
  for (const [name, url] of ALERTS) expect(url).toBe(`docs/how-to/alerts.md#${name.toLowerCase()}`)
})
