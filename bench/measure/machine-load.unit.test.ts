import { expect, test } from 'vitest'
import { busyBetween, parseMachineTicks, stolenBetween } from './machine-load.ts'

const BEFORE = { busy: 100, stolen: 10, total: 1_000 }
const AFTER = { busy: 250, stolen: 40, total: 1_200 }

test('waiting for a disk is no work, and what guests took is not counted twice', () => {
  const stat = 'cpu  100 10 40 800 50 1 2 3 90 5\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n'
  expect(parseMachineTicks(stat)).toEqual({ busy: 156, stolen: 3, total: 1_006 })
})

test('what was used between two readings is a share of all cores', () => {
  expect(busyBetween(BEFORE, AFTER)).toBe(0.75)
})

test('what other machines were given is a share of the time in which there was work', () => {
  expect(stolenBetween(BEFORE, AFTER)).toBe(0.2)
})
