import { expect, it } from 'vitest'
import { formatBytes, formatCount, formatDuration, formatNumber, formatPartitions } from './format.ts'

it('formats numbers with thousands separators, and counts with singular or plural', () => {
  expect(formatNumber(1_234_567)).toBe('1,234,567')
  expect([0, 1, 2].map((count) => formatCount(count, 'plant'))).toEqual(['0 plants', '1 plant', '2 plants'])
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
])('formats %d bytes as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})

it.each([
  [40, '0.0 s'],
  [9_940, '9.9 s'],
  [9_950, '10 s'],
  [59_400, '59 s'],
  [61_000, '1 min 1 s'],
  [3_600_000, '1 h 0 min'],
])('formats %d ms as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

it('formats partitions as ranges, at most eight of them', () => {
  expect(formatPartitions([3])).toBe('partition 3')
  expect(formatPartitions([5, 0, 1, 2, 9])).toBe('partitions 0-2, 5, 9')
  expect(formatPartitions(Array.from({ length: 500 }, (_, n) => 2 * n))).toBe('partitions 0, 2, 4, 6, 8, 10, 12, 14, …')
})
