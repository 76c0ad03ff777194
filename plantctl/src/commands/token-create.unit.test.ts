import { formatInstant } from '@plant-store/shared/access/token-entry.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { UsageError } from '../command.ts'
import { expiryOf } from './token-create.ts'

const NOW = Date.parse('2027-01-31T12:00:00Z')
const DAY_MS = 86_400_000
const expiry = (text: string, now = NOW) => formatInstant(expiryOf(text, now))

it('adds a duration to now, rounded up to a second', () => {
  expect(expiry('90d')).toBe('2027-05-01T12:00:00Z')
  expect(expiry('12h')).toBe('2027-02-01T00:00:00Z')
  expect(expiry('30m')).toBe('2027-01-31T12:30:00Z')
  expect(expiry('1d', NOW + 1)).toBe('2027-02-01T12:00:01Z')
})

it('accepts an instant', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3_650 * 86_400 }), (seconds) => {
      const instant = formatInstant(NOW + seconds * 1000)
      expect(expiry(instant)).toBe(instant)
    }),
  )
})

it.each(['', '0d', '01d', '1.5d', '-1d', '90', '90 d', '90D', '2w', 'never', '2027-02-29T00:00:00Z', '2027-02-01'])(
  'refuses "%s"',
  (text) => {
    expect(() => expiryOf(text, NOW)).toThrow(UsageError)
    expect(() => expiryOf(text, NOW)).toThrow(/expected 90d, 12h, 30m or an instant/)
  },
)

it('refuses the past, and more than ten years', () => {
  expect(() => expiryOf('2027-01-31T12:00:00Z', NOW)).toThrow(/is in the past: the time is now 2027-01-31T12:00:00Z/)
  expect(expiryOf('3650d', NOW)).toBe(NOW + 3_650 * DAY_MS)
  expect(expiryOf('3650d', NOW + 1)).toBe(NOW + 3_650 * DAY_MS + 1_000)
  for (const text of ['3651d', '9999999d', '2099-01-01T00:00:00Z']) {
    expect(() => expiryOf(text, NOW)).toThrow(/ten years at most/)
  }
})
