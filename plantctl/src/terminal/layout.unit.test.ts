import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Column, createPaint, tableLines, widthOf, wrapLines } from './layout.ts'

type Row = { name: string; count: number }

const columns: Column<Row>[] = [
  { title: 'name', cell: ({ name }) => name },
  { title: 'count', cell: ({ count }) => String(count), align: 'right' },
  { title: 'twice', cell: ({ count }) => String(2 * count), align: 'right', dropRank: 1 },
  { title: 'thrice', cell: ({ count }) => String(3 * count), align: 'right', dropRank: 2 },
]

it('a table aligns texts left and numbers right, without counting colours, and drops columns by their rank', () => {
  const fern = createPaint(true)('red', 'fern')
  const rows = [
    { name: fern, count: 7 },
    { name: 'oak', count: 12_000 },
  ]
  expect(tableLines(columns, rows, Number.POSITIVE_INFINITY)).toEqual([
    'name  count  twice  thrice',
    `${fern}      7     14      21`,
    'oak   12000  24000   36000',
  ])
  expect(tableLines(columns, rows, 25)[0]).toBe('name  count  twice')
  // Columns without a rank stay even when they are too wide.
  expect(tableLines(columns, rows, 3)[0]).toBe('name  count')
})

it('a table is never wider than the terminal while columns can be dropped', () => {
  const rows = fc.array(fc.record({ name: fc.string({ maxLength: 9 }), count: fc.nat(99_999) }))
  fc.assert(
    fc.property(rows, fc.integer({ min: 17, max: 60 }), (some, width) => {
      expect(Math.max(...tableLines(columns, some, width).map(widthOf))).toBeLessThanOrEqual(width)
    }),
  )
})

it('a wrapped text keeps every word, and is never wider than the terminal unless a single word is', () => {
  expect(wrapLines('! ', 'the read model is behind the log', 20)).toEqual(['! the read model is', '  behind the log'])
  const words = fc.array(fc.stringMatching(/^[a-z]{1,18}$/), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(words, fc.integer({ min: 22, max: 120 }), (words, columns) => {
      const lines = wrapLines('! ', words.join(' '), columns)
      expect(lines.map((line) => line.slice(2)).join(' ')).toBe(words.join(' '))
      expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(columns)
    }),
  )
})
