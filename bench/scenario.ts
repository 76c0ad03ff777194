import { mkdirSync, writeFileSync } from 'node:fs'
import type { Measured } from './measure/spread.ts'
import type { Declared, Options } from './options.ts'
import { type Table, type Target, targetsTable, textOf } from './report/table.ts'
import type { BenchStores } from './stores.ts'

export type Report = {
  title: string
  /** Paragraphs before the tables. */
  notes: readonly string[]
  tables: readonly Table[]
  /** The targets that were measured, for the terminal: performance.md has them for the committed results. */
  targets?: readonly Target[]
  /** All rounds. */
  measured: Record<string, Measured>
}

export type Scenario = {
  summary: string
  help: string
  declared: Declared
  /** The name of its files in docs/bench, if it has any. */
  file?: string
  /** Throws when a response is unexpected or an acknowledged plant is missing. */
  run(options: Options, stores: BenchStores): Promise<Report>
}

const FOLDER = new URL('../docs/bench/', import.meta.url)

/** Without the title and the targets. Tables without rows are left out. */
const plainReport = ({ notes, tables }: Pick<Report, 'notes' | 'tables'>): string =>
  [...notes, ...tables.filter(({ rows }) => rows.length > 0).map(textOf)].join('\n\n')

/** The report for a terminal, with the targets. */
export const terminalReport = ({ notes, tables, targets = [] }: Report): string =>
  plainReport({ notes, tables: [...tables, targetsTable(targets)] })

/** Writes the report, and a line for each round, to docs/bench. Returns the paths of the files. */
export function writeReport(scenario: string, name: string, report: Report): string[] {
  const origin = `Written by \`npm run bench -- ${scenario} --write\`; [${name}.jsonl](${name}.jsonl) has each round.`
  const rounds = Object.entries(report.measured).flatMap(([table, rows]) =>
    Object.entries(rows).flatMap(([row, runs]) => runs.map((figures) => JSON.stringify({ table, row, ...figures }))),
  )
  const texts = [`# ${report.title}`, origin, plainReport(report)]
  const files = { [`${name}.md`]: `${texts.join('\n\n')}\n`, [`${name}.jsonl`]: `${rounds.join('\n')}\n` }
  mkdirSync(FOLDER, { recursive: true })
  for (const [file, content] of Object.entries(files)) writeFileSync(new URL(file, FOLDER), content)
  return Object.keys(files).map((file) => `docs/bench/${file}`)
}
