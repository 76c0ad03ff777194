import { expect, it } from 'vitest'
import { createLineLimit } from './line-limit.ts'

it('of repeated lines, one in 10 s is logged, with the number of those left out', () => {
  let now = 0
  const limit = createLineLimit(() => now)
  const at = (ms: number) => {
    now = ms
    return limit()
  }
  expect([0, 1, 9_999, 10_000, 10_001, 30_000, 50_000].map(at)).toEqual([0, undefined, undefined, 2, undefined, 1, 0])
})
