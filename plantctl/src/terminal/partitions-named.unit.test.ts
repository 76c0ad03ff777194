import { expect, it } from 'vitest'
import { partitionsNamed } from './partitions-named.ts'

it('partitions are told in spans, and only the first of very many', () => {
  expect(partitionsNamed([3])).toBe('partition 3')
  expect(partitionsNamed([5, 0, 1, 2, 9])).toBe('partitions 0-2, 5, 9')
  expect(partitionsNamed(Array.from({ length: 500 }, (_, n) => 2 * n))).toBe(
    'partitions 0, 2, 4, 6, 8, 10, 12, 14, …',
  )
})
