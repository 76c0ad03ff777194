import { expect, it } from 'vitest'
import { createBackOff } from './retry.ts'

it('doubles the wait after each failure, up to the limit, and starts again after a success', () => {
  const backOff = createBackOff({ firstMs: 100, longestMs: 500 })
  const next = (count: number) => Array.from({ length: count }, backOff.nextMs)
  expect(next(5)).toEqual([100, 200, 400, 500, 500])
  backOff.reset()
  expect(next(2)).toEqual([100, 200])
})
