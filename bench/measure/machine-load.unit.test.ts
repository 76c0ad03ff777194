import { expect, test } from 'vitest'
import { busyBetween, parseMachineTicks } from './machine-load.ts'

test('waiting for a disk is no work, and what guests took is not counted twice', () => {
  const stat = 'cpu  100 10 40 800 50 1 2 3 90 5\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n'
  expect(parseMachineTicks(stat)).toEqual({ busy: 156, total: 1_006 })
})

test('what was used between two readings is a share of all cores', () => {
  expect(busyBetween({ busy: 100, total: 1_000 }, { busy: 250, total: 1_200 })).toBe(0.75)
})
