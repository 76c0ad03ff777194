import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { UsageError } from '../command.ts'
import { asOfPoint } from './as-of-point.ts'

const NOW = Date.parse('2027-01-31T12:00:00Z')
const told = (text: string) => asOfPoint(text, 12, NOW)
const at = (text: string) => ({ is: 'moment', ms: Date.parse(text) })

it('a moment is an instant', () => {
  expect(told('2027-01-31T11:00:00Z')).toEqual(at('2027-01-31T11:00:00Z'))
  expect(told('2027-01-31T11:00:00.250Z')).toEqual(at('2027-01-31T11:00:00.250Z'))
  expect(told('2027-01-31T12:00:00Z')).toEqual(at('2027-01-31T12:00:00Z'))
})

it('or how long ago', () => {
  expect(told('90s')).toEqual(at('2027-01-31T11:58:30Z'))
  expect(told('30m')).toEqual(at('2027-01-31T11:30:00Z'))
  expect(told('12h')).toEqual(at('2027-01-31T00:00:00Z'))
  expect(told('7d')).toEqual(at('2027-01-24T12:00:00Z'))
  expect(told('9999999d')).toEqual(at('1970-01-01T00:00:00Z'))
})

it('or positions, as the api tells them, the highest of each partition', () => {
  const positions = (...pairs: [number, number][]) => ({
    is: 'positions',
    positions: new Map(pairs as [Partition, Offset][]),
  })
  expect(told('3-120')).toEqual(positions([3, 120]))
  expect(told('3-120,5-7, 3-9,3-121')).toEqual(positions([3, 121], [5, 7]))
  expect(told('0-0')).toEqual(positions([0, 0]))
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
])('"%s" is no moment', (text) => {
  expect(() => told(text)).toThrow(UsageError)
  expect(() => told(text)).toThrow(/expected an instant such as/)
})

it('nor is what is yet to come', () => {
  expect(() => told('2027-01-31T12:00:01Z')).toThrow(/yet to come/)
})
