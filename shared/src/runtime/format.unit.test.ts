import { expect, it } from 'vitest'
import { formatBytes, formatCount, formatDuration, formatPartitions } from './format.ts'

it('formats counts with thousands separators, in singular or plural', () => {
  const counts = [0, 1, 1_234_567].map((count) => formatCount(count, 'plant'))
  expect(counts).toEqual(['0 plants', '1 plant', '1,234,567 plants'])
})

it('formats bytes and times in fitting units', () => {
  const bytes = [0, 999, 1_000, 99_900, 468_000, 1_500_000_000_000, 9_000_000_000_000_000].map(formatBytes)
  expect(bytes).toEqual(['0 bytes', '999 bytes', '1.0 kB', '99.9 kB', '468 kB', '1.5 TB', '9000 TB'])
  const times = [40, 9_940, 9_950, 59_400, 61_000, 3_600_000].map(formatDuration)
  expect(times).toEqual(['0.0 s', '9.9 s', '10 s', '59 s', '1 min 1 s', '1 h 0 min'])
})

it('formats partitions as ranges, at most eight of them', () => {
  expect(formatPartitions([3])).toBe('partition 3')
  expect(formatPartitions([5, 0, 1, 2, 9])).toBe('partitions 0-2, 5, 9')
  expect(formatPartitions(Array.from({ length: 500 }, (_, n) => 2 * n))).toBe('partitions 0, 2, 4, 6, 8, 10, 12, 14, …')
})
