import { expect, it } from 'vitest'
import { parseTraceparent } from './traceparent.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const VALID = `00-${TRACE}-${PARENT}-01`

it.each(['01', '00', 'fe'])('a traceparent of version 00 is returned unchanged, whatever its flags: %s', (flags) => {
  const text = `00-${TRACE}-${PARENT}-${flags}`
  expect(parseTraceparent(text)).toBe(text)
})

it.each([
  ['nothing', ''],
  ['something after the flags', `${VALID}-00`],
  ['a line end after it', `${VALID}\n`],
  ['capital letters', VALID.toUpperCase()],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
  ['a parent of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['the invalid version', `ff-${TRACE}-${PARENT}-01`],
  ['more flags than two digits', `01-${TRACE}-${PARENT}-01.what`],
])('a traceparent is ignored with %s', (_fault, text) => {
  expect(parseTraceparent(text)).toBeUndefined()
})

it.each([
  ['that has no more fields', `01-${TRACE}-${PARENT}-01`, VALID],
  ['with more fields', `cc-${TRACE}-${PARENT}-01-what-the-future-will-be-like`, VALID],
  ['with flags that nobody knows yet', `01-${TRACE}-${PARENT}-0b`, VALID],
  ['that was not sampled', `01-${TRACE}-${PARENT}-fe`, VALID.replace(/01$/, '00')],
])('a traceparent of a later version %s is read as version 00', (_what, text, read) => {
  expect(parseTraceparent(text)).toBe(read)
})
