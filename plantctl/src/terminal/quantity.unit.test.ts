import { expect, it } from 'vitest'
import { counted, grouped, sized } from './quantity.ts'

it('numbers are grouped, and what is counted has its number', () => {
  expect(grouped(1_234_567)).toBe('1,234,567')
  expect([0, 1, 2].map((count) => counted(count, 'plant'))).toEqual(['0 plants', '1 plant', '2 plants'])
})

it.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1_000, '1.0 kB'],
  [99_900, '99.9 kB'],
  [468_000, '468 kB'],
  [170_000_000, '170 MB'],
  [1_500_000_000_000, '1.5 TB'],
  [9_000_000_000_000_000, '9000 TB'],
])('%d bytes are %s', (bytes, text) => {
  expect(sized(bytes)).toBe(text)
})
