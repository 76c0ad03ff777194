import { styleText } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Column, tableLines, widthOf, wrapLines } from './layout.ts'

type Row = { name: string; count: number }

const columns: Column<Row>[] = [
  { title: 'name', cell: ({ name }) => name },
  { title: 'count', cell: ({ count }) => String(count), align: 'right' },
  { title: 'twice', cell: ({ count }) => String(2 * count), align: 'right', dropRank: 1 },
  { title: 'thrice', cell: ({ count }) => String(3 * count), align: 'right', dropRank: 2 },
]
const rows = [
  { name: 'fern', count: 7 },
  { name: 'oak', count: 12_000 },
]

describe('a table', () => {
  it('aligns texts left and numbers right', () => {
    expect(tableLines(columns, rows, Number.POSITIVE_INFINITY)).toEqual([
      'name  count  twice  thrice',
      'fern      7     14      21',
      'oak   12000  24000   36000',
    ])
  })

  it('drops columns on a narrow terminal, the highest rank first', () => {
    expect(tableLines(columns, rows, 25)[0]).toBe('name  count  twice')
    expect(tableLines(columns, rows, 12)[0]).toBe('name  count')
    // Columns without a rank stay even when they are too wide.
    expect(tableLines(columns, rows, 3)[0]).toBe('name  count')
  })

  it('does not count colours as width', () => {
    const painted = [{ name: styleText('red', 'fern', { validateStream: false }), count: 7 }]
    expect(widthOf(painted[0]?.name ?? '')).toBe(4)
    expect(tableLines(columns.slice(0, 2), painted, 80)[1]).toBe(`${painted[0]?.name}      7`)
  })

  it('is never wider than the terminal while columns can be dropped', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ name: fc.string({ maxLength: 9 }), count: fc.nat(99_999) })),
        fc.integer({ min: 17, max: 60 }),
        (some, width) => {
          expect(Math.max(...tableLines(columns, some, width).map(widthOf))).toBeLessThanOrEqual(width)
        },
      ),
    )
  })
})

describe('a wrapped text', () => {
  it('breaks between words and indents below the first line', () => {
    expect(wrapLines('! ', 'the read model is behind the log', 20)).toEqual(['! the read model is', '  behind the log'])
    expect(wrapLines('- ', 'short', 80)).toEqual(['- short'])
    expect(wrapLines('- ', 'never broken', Number.POSITIVE_INFINITY)).toEqual(['- never broken'])
  })

  it('keeps every word, and is never wider than the terminal unless a single word is', () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,18}$/), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(words, fc.integer({ min: 22, max: 120 }), (words, columns) => {
        const lines = wrapLines('! ', words.join(' '), columns)
        expect(lines.map((line) => line.slice(2)).join(' ')).toBe(words.join(' '))
        expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(columns)
      }),
    )
  })
})
