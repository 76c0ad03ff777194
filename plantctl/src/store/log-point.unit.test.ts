import { after, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { UsageError } from '../command.ts'
import { logPointOf, offsetsOf } from './log-point.ts'

const NOW = Date.parse('2027-01-31T12:00:00Z')

const pointOf = (text: string) => logPointOf('--from', text, 12, NOW)
it.each([
  ['2027-01-31T11:59:59.250Z', '2027-01-31T11:59:59.250Z'],
  ['2027-01-31T12:00:01Z', '2027-01-31T12:00:01Z'],
  ['90s', '2027-01-31T11:58:30Z'],
  ['15m', '2027-01-31T11:45:00Z'],
  ['12h', '2027-01-31T00:00:00Z'],
  ['7d', '2027-01-24T12:00:00Z'],
  // No record was written before 1970.
  ['9999999d', '1970-01-01T00:00:00Z'],
  ['1969-12-31T23:59:59.998Z', '1970-01-01T00:00:00Z'],
])('%s is the moment %s', (text, moment) => {
  expect(pointOf(text)).toEqual({ is: 'moment', ms: Date.parse(moment) })
})

it('is positions as in a Plants-Position header, the highest of each partition', () => {
  const positions = (...pairs: [number, number][]) => ({
    is: 'positions',
    positions: new Map(pairs as [Partition, Offset][]),
  })
  expect(pointOf('3-120')).toEqual(positions([3, 120]))
  expect(pointOf('3-120,5-7, 3-9,3-121')).toEqual(positions([3, 121], [5, 7]))
  expect(pointOf('0-0')).toEqual(positions([0, 0]))
})

it.each([
  ...['', 'now', 'yesterday', '12-0', '3', '3-', '-3', '-1-3', '3-1.5', '3-120,', `3-${2 ** 48}`, '0m', '0s', '-1h'],
  ...['1w', '2027-02-29T00:00:00Z', '2027-01-31', '2027-01-31T25:00:00Z', '2027-01-31T11:00:00+01:00'],
])('is not "%s"', (text) => {
  expect(() => pointOf(text)).toThrow(UsageError)
  expect(() => pointOf(text)).toThrow(/--from .*: expected a position such as 3-120 \(partition, at most 11/)
})

it('has an offset in the partitions that its positions name, and in none without a point', async () => {
  const offsets = await offsetsOf({} as never, pointOf('3-120,5-7'), after)
  expect(Object.entries(offsets)).toEqual([
    ['3', 121],
    ['5', 8],
  ])
  expect(await offsetsOf({} as never, undefined, after)).toEqual([])
})
