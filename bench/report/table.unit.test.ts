import { expect, it } from 'vitest'
import { target } from './table.ts'

it.each([
  [[0.5, 0.8, 0.7], { atLeast: 0.7 }, 'met'],
  [[0.5, 0.9, 0.5], { atLeast: 0.6 }, 'missed'],
  [[46, 44, 1], { atMost: 45 }, 'met'],
  [[46], { atMost: 45 }, 'missed'],
])('the median of %j decides about %j: %s', (measured, bound, verdict) => {
  expect(target(1, 'a ratio', measured, bound, '×').map((row) => row.at(-1))).toEqual([verdict])
})

it('a target without a measurement is not met', () => {
  expect(target(1, 'a ratio', undefined, { atMost: 1 }, '×')).toEqual([])
})
