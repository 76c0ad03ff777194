import { expect, it } from 'vitest'
import { lasting, progressBar } from './progress-bar.ts'

it('it tells how far the work is, its pace and how long it will take', () => {
  expect(
    progressBar({ passed: 500_000, before: 0, of: 2_000_000, elapsedMs: 4_000 }, 'filling partition 3', 120),
  ).toBe(
    '[######------------------]  25 %  500,000 of 2,000,000 events, 125,000/s, 12 s left  filling partition 3',
  )
})

it('what was there before does not count for the pace', () => {
  expect(progressBar({ passed: 500, before: 400, of: 1_000, elapsedMs: 1_000 }, '', 40)).toBe(
    ' 50 %  500 of 1,000 events, 100/s, 5.0 s left',
  )
})

it('without work it is done, and before it begins it has no pace', () => {
  expect(progressBar({ passed: 0, before: 0, of: 0, elapsedMs: 0 }, '', 40)).toBe('100 %  0 of 0 events')
  expect(progressBar({ passed: 0, before: 0, of: 10, elapsedMs: 900 }, '', 40)).toBe('  0 %  0 of 10 events')
})

it('more than was there at the beginning is no more than all', () => {
  expect(progressBar({ passed: 12, before: 0, of: 10, elapsedMs: 1_000 }, '', 100)).toMatch(
    /^\[#{24}\] 100 % .*\/s$/,
  )
})

it.each([
  [40, '0.0 s'],
  [9_940, '9.9 s'],
  [9_950, '10 s'],
  [59_400, '59 s'],
  [61_000, '1 min 1 s'],
  [3_600_000, '1 h 0 min'],
])('%d ms are %s', (ms, text) => {
  expect(lasting(ms)).toBe(text)
})
