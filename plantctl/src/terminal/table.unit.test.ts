import { styleText } from 'node:util'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Column, lengthOf, tableLines } from './table.ts'

type Row = { name: string; count: number }

const columns: Column<Row>[] = [
  { title: 'name', cell: ({ name }) => name },
  { title: 'count', cell: ({ count }) => String(count), align: 'right' },
  { title: 'twice', cell: ({ count }) => String(2 * count), align: 'right', givesWay: 1 },
  { title: 'thrice', cell: ({ count }) => String(3 * count), align: 'right', givesWay: 2 },
]
const rows = [
  { name: 'fern', count: 7 },
  { name: 'oak', count: 12_000 },
]

it('cells stand below each other, numbers at the right', () => {
  expect(tableLines(columns, rows, Number.POSITIVE_INFINITY)).toEqual([
    'name  count  twice  thrice',
    'fern      7     14      21',
    'oak   12000  24000   36000',
  ])
})

it('on a narrow terminal the columns give way that may, the least important first', () => {
  expect(tableLines(columns, rows, 25)[0]).toBe('name  count  twice')
  expect(tableLines(columns, rows, 12)[0]).toBe('name  count')
  // What must not give way stays, though it is too wide.
  expect(tableLines(columns, rows, 3)[0]).toBe('name  count')
})

it('colours take no room', () => {
  const painted = [{ name: styleText('red', 'fern', { validateStream: false }), count: 7 }]
  expect(lengthOf(painted[0]?.name ?? '')).toBe(4)
  expect(tableLines(columns.slice(0, 2), painted, 80)[1]).toBe(`${painted[0]?.name}      7`)
})

it('no line is wider than the terminal, as long as columns can give way', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ name: fc.string({ maxLength: 9 }), count: fc.nat(99_999) })),
      fc.integer({ min: 17, max: 60 }),
      (some, width) => {
        expect(Math.max(...tableLines(columns, some, width).map(lengthOf))).toBeLessThanOrEqual(width)
      },
    ),
  )
})
