import { expect, it } from 'vitest'
import { UsageError } from '../command.ts'
import { logPointOf } from './log-point.ts'

const NOW = Date.parse('2027-01-31T12:00:00Z')
const pointOf = (text: string) => logPointOf('--from', text, 12, NOW)

it('a moment is an instant, or so long ago', () => {
  expect(pointOf('2027-01-31T00:00:00Z')).toEqual({ is: 'moment', ms: NOW - 43_200_000 })
  expect(pointOf('2027-01-31T11:59:59.250Z')).toEqual({ is: 'moment', ms: NOW - 750 })
  expect(['30s', '15m', '2h', '7d'].map(pointOf)).toEqual(
    [30_000, 900_000, 7_200_000, 604_800_000].map((agoMs) => ({ is: 'moment', ms: NOW - agoMs })),
  )
})

it.each([
  '',
  '12-0',
  '3',
  '3-',
  '-3',
  '3-1.5',
  `3-${2 ** 48}`,
  '0m',
  '1w',
  '2027-02-29T00:00:00Z',
  '2027-01-31',
  '2027-01-31T25:00:00Z',
])('there is no point "%s"', (text) => {
  expect(() => pointOf(text)).toThrow(UsageError)
  expect(() => pointOf(text)).toThrow(/--from .*: expected a position such as 3-120 \(partition, at most 11/)
})
