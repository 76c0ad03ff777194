import { chartsOf } from './charts.ts'
import { markdownReport } from './report.ts'
import type { Results } from './results.ts'
import { againstTargets } from './targets.ts'
import { writeFiles } from './write-files.ts'

/** Writes the report to docs/bench. Returns the paths of its files. */
export function writeReport(results: Results): string[] {
  const charts = chartsOf(results)
  return writeFiles(
    new Map([
      ['results.md', markdownReport(results, [...charts.keys()])],
      ['results.json', `${JSON.stringify({ ...results, targets: againstTargets(results) }, undefined, 2)}\n`],
      ...charts,
    ]),
  )
}
