import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseTraceparent } from './traceparent.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const VALID = `00-${TRACE}-${PARENT}-01`

const hex = (length: number) =>
  fc.string({
    unit: fc.constantFrom(...Array.from('0123456789abcdef')),
    minLength: length,
    maxLength: length,
  })
const notZero = (length: number) => hex(length).filter((text) => !/^0+$/.test(text))

it('a traceparent of version 00 is returned unchanged, whatever its flags', () => {
  fc.assert(
    fc.property(notZero(32), notZero(16), hex(2), (traceId, parentId, flags) => {
      const text = `00-${traceId}-${parentId}-${flags}`
      expect(parseTraceparent(text)).toBe(text)
    }),
  )
})

it.each([
  ['nothing', ''],
  ['something after the flags', `${VALID}-00`],
  ['a space before it', ` ${VALID}`],
  ['a line end after it', `${VALID}\n`],
  ['capital letters', VALID.toUpperCase()],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
  ['a parent of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['a letter that is no digit', `00-${TRACE.replace('4', 'g')}-${PARENT}-01`],
  ['one digit of flags', `00-${TRACE}-${PARENT}-1`],
  ['two of them in one header', `${VALID}, ${VALID}`],
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
