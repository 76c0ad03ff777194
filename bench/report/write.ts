import { mkdirSync, writeFileSync } from 'node:fs'
import { chartsOf } from './charts.ts'
import { markdownReport } from './report.ts'
import type { Results } from './results.ts'
import { againstTargets } from './targets.ts'

const FOLDER = new URL('../../docs/bench/', import.meta.url)

/** Writes docs/bench; tells which files. */
export function writeReport(results: Results): string[] {
  const charts = chartsOf(results)
  const files = new Map([
    ['results.md', markdownReport(results, [...charts.keys()])],
    ['results.json', `${JSON.stringify({ ...results, targets: againstTargets(results) }, undefined, 2)}\n`],
    ...charts,
  ])
  mkdirSync(FOLDER, { recursive: true })
  for (const [name, content] of files) writeFileSync(new URL(name, FOLDER), content)
  return [...files.keys()].map((name) => `docs/bench/${name}`)
}
