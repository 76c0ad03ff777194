import { formatInstant } from '@plant-store/shared/access/token-entry.ts'
import { expect, it } from 'vitest'
import { UsageError } from '../command.ts'
import { expiryOf } from './token-create.ts'

const NOW = Date.parse('2027-01-31T12:00:00Z')

it.each([
  ['90d', 0, '2027-05-01T12:00:00Z'],
  ['12h', 0, '2027-02-01T00:00:00Z'],
  ['30m', 0, '2027-01-31T12:30:00Z'],
  // Rounded up to a second, also beyond ten years.
  ['1d', 1, '2027-02-01T12:00:01Z'],
  ['3650d', 1, '2037-01-28T12:00:01Z'],
  ['2027-01-31T12:00:01Z', 0, '2027-01-31T12:00:01Z'],
])('%s expires, counted from %d ms later, at %s', (text, laterMs, instant) => {
  expect(formatInstant(expiryOf(text, NOW + laterMs))).toBe(instant)
})

it.each<[RegExp, ...string[]]>([
  [/expected 90d, 12h, 30m or an instant/, '', '0d', '01d', '1.5d', '-1d', '90', '2w', 'never', '2027-02-29T00:00:00Z'],
  [/is in the past: the time is now 2027-01-31T12:00:00Z/, '2027-01-31T12:00:00Z'],
  [/ten years at most/, '3651d', '9999999d', '2099-01-01T00:00:00Z'],
])('refuses with %s: "%s"', (message, ...texts) => {
  for (const text of texts) {
    expect(() => expiryOf(text, NOW)).toThrow(UsageError)
    expect(() => expiryOf(text, NOW)).toThrow(message)
  }
})
