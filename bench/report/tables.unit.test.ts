import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digits, spread } from './figures.ts'
import { results } from './generated-results.ts'
import { markdownReport, plainReport } from './report.ts'
import { markdownTable, plainTable } from './table.ts'
import { overloadTable } from './tables.ts'
import { againstTargets } from './targets.ts'

const cell = fc.string({ unit: fc.constantFrom('a', '7', '|', '×', ' ', 'é'), minLength: 1, maxLength: 8 })
const table = fc.integer({ min: 1, max: 5 }).chain((columns) => {
  const cells = fc.array(
    cell.map((text) => text.trim() || '-'),
    { minLength: columns, maxLength: columns },
  )
  return fc.record({
    head: cells,
    rows: fc.array(cells, { maxLength: 6 }),
    words: fc.subarray([...Array(columns).keys()]).map((all) => new Set(all)),
  })
})

describe('a table', () => {
  it('in a terminal has each cell where its column is: words from the left, figures to the right', () => {
    fc.assert(
      fc.property(table, (sample) => {
        const [head, rule, ...rows] = plainTable(sample).split('\n') as [string, string, ...string[]]
        const ends: number[] = []
        for (const [, bar = ''] of rule.matchAll(/(─+)/g)) ends.push((ends.at(-1) ?? -2) + 2 + bar.length)
        for (const [n, line] of [head, ...rows].entries()) {
          for (const [column, end] of ends.entries()) {
            const begin = (ends[column - 1] ?? -2) + 2
            const text = [sample.head, ...sample.rows][n]?.[column] ?? ''
            const placed = line.slice(begin, end).padEnd(end - begin)
            const blanks = ' '.repeat(end - begin - text.length)
            expect(placed).toBe(sample.words.has(column) ? text + blanks : blanks + text)
          }
        }
      }),
    )
  })

  it('in Markdown has as many cells in each line, whatever is in them', () => {
    fc.assert(
      fc.property(table, (sample) => {
        const cells = markdownTable(sample)
          .split('\n')
          .map((line) => line.slice(1, -1).split(/(?<!\\)\|/).length)
        expect(new Set(cells)).toEqual(new Set([sample.head.length]))
      }),
    )
  })
})

describe('a report', () => {
  it('has no invalid figure, in a terminal or in Markdown', () => {
    fc.assert(
      fc.property(results, (measured) => {
        for (const text of [plainReport(measured), markdownReport(measured, ['creates.svg'])]) {
          expect(text).not.toMatch(/NaN|undefined|Infinity/)
          for (const { name } of measured.creates) expect(text).toContain(name)
        }
      }),
    )
  })
})

describe('the table of overload', () => {
  it('compares the goodput with the same peak as the target does', () => {
    fc.assert(
      fc.property(results, (measured) => {
        const openLoad = measured.openLoad.map((row) => ({ ...row, runs: row.runs.slice(0, 1) }))
        const one = { ...measured, openLoad }
        const target = againstTargets(one).find(({ number }) => number === 10)
        const overload = openLoad[0]?.runs[0]?.overload
        const [[, peak, , , share] = []] = overloadTable(one).rows
        expect([peak, `${share}×`]).toEqual([digits(overload?.peakPerSecond ?? 0), target?.measured])
      }),
    )
  })
})

describe('a figure', () => {
  it('has three digits at least, and is as large as it was', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 1e7, noNaN: true }), (value) => {
        const read = Number(digits(value).replaceAll(',', ''))
        expect(Math.abs(read / value - 1)).toBeLessThanOrEqual(0.005)
        expect(digits(value).replace(/\D/g, '').length).toBeGreaterThanOrEqual(3)
      }),
    )
  })

  it('of one round has no spread', () => {
    expect(spread({ median: 7, min: 7, max: 7, rounds: 1 })).toBe('7.00')
    expect(spread({ median: 7, min: 6, max: 812, rounds: 3 })).toBe('7.00 (6.00–812)')
  })
})
