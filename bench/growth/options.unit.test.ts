import { expect, test } from 'vitest'
import { readOptions } from './options.ts'

test('a benchmark of growth goes up to a million plants by default, or to the requested size', () => {
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
])('%s %s is rejected with a message that names the option', (...args) => {
  expect(() => readOptions(args)).toThrow(new RegExp(args[0] ?? ''))
})
