import { onWhat } from '../environment.ts'
import type { Results } from './results.ts'
import { markdownTable, plainTable, type Table } from './table.ts'
import { createsTable, openLoadTable, overloadTable, projectionsTable, promisesTable, targetsTable } from './tables.ts'

/** For the terminal. */
export function plainReport(results: Results): string {
  return [circumstances(results).join('\n'), ...tablesOf(results).map(plainTable)].join('\n\n')
}

/** For docs/bench/results.md, with these charts beside it. */
export function markdownReport(results: Results, charts: readonly string[]): string {
  const parts = [
    '# Benchmark results',
    'Written by `npm run bench -- --write`; [results.json](results.json) has each round. [performance.md](../explanation/performance.md#creates-side-by-side)\n' +
      'explains what is compared, how it is measured, and what the figures do not show.',
    circumstances(results).join('\n\n'),
    ...charts.map((file) => `![${altOf(file)}](${file})`),
    ...tablesOf(results).map(markdownTable),
  ]
  return `${parts.join('\n\n')}\n`
}

/** What was measured, and on what. */
function circumstances(results: Results): string[] {
  const { connections, effort } = results
  const { rounds, seconds, leftOut } = effort
  const times = rounds === 1 ? 'One round' : `${rounds} rounds`
  const figures = rounds === 1 ? 'the figures of one round' : 'medians, and from the lowest round to the highest'
  return [
    onWhat(results),
    `${times} of ${seconds} s with ${connections} clients: ${figures}.`,
    ...(leftOut.length > 0 ? [`Left out: ${leftOut.join(', ')}. \`npm run bench\` measures everything.`] : []),
  ]
}

/** Only of what was measured. */
function tablesOf(results: Results): Table[] {
  const tables = [createsTable, promisesTable, openLoadTable, overloadTable, projectionsTable, targetsTable]
  return tables.map((of) => of(results)).filter(({ rows }) => rows.length > 0)
}

const altOf = (file: string) => `Chart: ${file.replace(/\.svg$/, '')}, with the figures of the table below`
