import { after } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { UsageError } from '../command.ts'
import { logPointOf, offsetsOf } from './log-point.ts'

const NOW = Date.parse('2027-01-31T12:00:00Z')
const pointOf = (text: string) => logPointOf('--from', text, 12, NOW)

it.each([
  ['2027-01-31T11:59:59.250Z', '2027-01-31T11:59:59.250Z'],
  ['90s', '2027-01-31T11:58:30Z'],
  ['15m', '2027-01-31T11:45:00Z'],
  ['7d', '2027-01-24T12:00:00Z'],
  // No record was written before 1970.
  ['9999999d', '1970-01-01T00:00:00Z'],
  ['1969-12-31T23:59:59.998Z', '1970-01-01T00:00:00Z'],
])('%s is the moment %s', (text, moment) => {
  expect(pointOf(text)).toEqual({ is: 'moment', ms: Date.parse(moment) })
})

it('is positions as in a Plants-Position header, the highest of each partition, with offsets in these alone', async () => {
  const positions = [
    [3, 121],
    [5, 7],
  ] as const
  const point = pointOf('3-120,5-7, 3-9,3-121')
  expect(point).toEqual({ is: 'positions', positions: new Map(positions) })
  const offsets = await offsetsOf({} as never, point, after)
  expect(Object.entries(offsets)).toEqual([
    ['3', 122],
    ['5', 8],
  ])
  expect(await offsetsOf({} as never, undefined, after)).toEqual([])
})

it.each(['', 'now', '12-0', '3', '3-', '-1-3', '3-120,', '0m', '-1h', '1w', '2027-02-29T00:00:00Z', '2027-01-31'])(
  'is not "%s"',
  (text) => {
    expect(() => pointOf(text)).toThrow(UsageError)
    expect(() => pointOf(text)).toThrow(/--from .*: expected a position such as 3-120 \(partition, at most 11/)
  },
)
