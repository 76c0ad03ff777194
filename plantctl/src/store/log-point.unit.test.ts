import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { describe, expect, it } from 'vitest'
import { UsageError } from '../command.ts'
import { asOfPointOf, logPointOf } from './log-point.ts'

const NOW = Date.parse('2027-01-31T12:00:00Z')

describe('a log point', () => {
  const pointOf = (text: string) => logPointOf('--from', text, 12, NOW)

  it('is an instant, or how long ago', () => {
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
  ])('is not "%s"', (text) => {
    expect(() => pointOf(text)).toThrow(UsageError)
    expect(() => pointOf(text)).toThrow(/--from .*: expected a position such as 3-120 \(partition, at most 11/)
  })
})

describe('an as-of point', () => {
  const pointOf = (text: string) => asOfPointOf(text, 12, NOW)
  const moment = (text: string) => ({ is: 'moment', ms: Date.parse(text) })

  it('is an instant', () => {
    expect(pointOf('2027-01-31T11:00:00Z')).toEqual(moment('2027-01-31T11:00:00Z'))
    expect(pointOf('2027-01-31T11:00:00.250Z')).toEqual(moment('2027-01-31T11:00:00.250Z'))
    expect(pointOf('2027-01-31T12:00:00Z')).toEqual(moment('2027-01-31T12:00:00Z'))
  })

  it('is how long ago', () => {
    expect(pointOf('90s')).toEqual(moment('2027-01-31T11:58:30Z'))
    expect(pointOf('30m')).toEqual(moment('2027-01-31T11:30:00Z'))
    expect(pointOf('12h')).toEqual(moment('2027-01-31T00:00:00Z'))
    expect(pointOf('7d')).toEqual(moment('2027-01-24T12:00:00Z'))
    expect(pointOf('9999999d')).toEqual(moment('1970-01-01T00:00:00Z'))
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
    '',
    'now',
    'yesterday',
    '2w',
    '-1h',
    '2027-01-31',
    '2027-02-29T00:00:00Z',
    '2027-01-31T11:00:00+01:00',
    '3',
    '3-',
    '3-120,',
    '-1-3',
    '12-0',
    '0s',
    '3-999999999999999',
  ])('is not "%s"', (text) => {
    expect(() => pointOf(text)).toThrow(UsageError)
    expect(() => pointOf(text)).toThrow(/expected an instant such as/)
  })

  it('is not in the future', () => {
    expect(() => pointOf('2027-01-31T12:00:01Z')).toThrow(/in the future/)
  })
})
