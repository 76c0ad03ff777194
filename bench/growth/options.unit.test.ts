import { expect, test } from 'vitest'
import { readOptions } from './options.ts'

test('a benchmark of growth goes up to a million plants, and to what it is asked for', () => {
  expect(readOptions([])?.sizes).toEqual([1e4, 1e5, 1e6])
  expect(readOptions(['--up-to', '1e7'])?.sizes).toEqual([1e4, 1e5, 1e6, 1e7])
  expect(readOptions(['--up-to', '10000'])?.sizes).toEqual([1e4])
  expect(readOptions(['--help'])).toBeUndefined()
})

test.each([
  ['--up-to', '5e4'],
  ['--up-to', ''],
  ['--rounds', '0'],
  ['--rounds', '21'],
  ['--seconds', '1.5'],
  ['--connections', '-1'],
  ['--more'],
])('%s %s is refused, and the message says what is expected', (...args) => {
  expect(() => readOptions(args)).toThrow(new RegExp(args[0] ?? ''))
})
