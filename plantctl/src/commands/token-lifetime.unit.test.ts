import { formatInstant } from '@plant-store/shared/access/instant.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { UsageError } from '../command.ts'
import { endOf } from './token-lifetime.ts'

const NOW = Date.parse('2027-01-31T12:00:00Z')
const DAY_MS = 86_400_000
const told = (text: string, now = NOW) => formatInstant(endOf(text, now))

it('a lifetime is counted from now, and lasts into the second in which it ends', () => {
  expect(told('90d')).toBe('2027-05-01T12:00:00Z')
  expect(told('12h')).toBe('2027-02-01T00:00:00Z')
  expect(told('30m')).toBe('2027-01-31T12:30:00Z')
  expect(told('1d', NOW + 1)).toBe('2027-02-01T12:00:01Z')
})

it('an instant is taken as it is', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3_650 * 86_400 }), (seconds) => {
      const instant = formatInstant(NOW + seconds * 1000)
      expect(told(instant)).toBe(instant)
    }),
  )
})

it.each([
  '',
  '0d',
  '01d',
  '1.5d',
  '-1d',
  '90',
  '90 d',
  '90D',
  '2w',
  'never',
  '2027-02-29T00:00:00Z',
  '2027-02-01',
])('there is no lifetime "%s"', (text) => {
  expect(() => endOf(text, NOW)).toThrow(UsageError)
  expect(() => endOf(text, NOW)).toThrow(/expected 90d, 12h, 30m or an instant/)
})

it('it ends in the future, within ten years', () => {
  expect(() => endOf('2027-01-31T12:00:00Z', NOW)).toThrow(/is past; it is 2027-01-31T12:00:00Z/)
  expect(endOf('3650d', NOW)).toBe(NOW + 3_650 * DAY_MS)
  for (const text of ['3651d', '9999999d', '2099-01-01T00:00:00Z']) {
    expect(() => endOf(text, NOW)).toThrow(/ten years at most/)
  }
})
