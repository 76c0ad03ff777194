import fc from 'fast-check'
import { expect, it } from 'vitest'
import { codePoints } from '../../../tests/support/generated-texts.ts'
import { safeOutput, safeText } from './safe-text.ts'

/** Characters that a terminal acts on, reorders or does not show. */
const HARMFUL = /[\p{Cc}\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u

it('escapes characters that a terminal would act on', () => {
  expect(safeText('a\x1b[31mred\r\n', 99)).toBe('a\\u001b[31mred\\u000d\\u000a')
  expect(safeText('\u202eevil \\x1b', 99)).toBe('\\u202eevil \\\\x1b')
  expect(safeText('Grüße, 蕨 🌿', 99)).toBe('Grüße, 蕨 🌿')
})

it('cuts long texts between characters', () => {
  expect(safeText('🌿🌿🌿', 2)).toBe('🌿🌿… (3 characters)')
})

const texts = fc.oneof(
  fc.string({ unit: codePoints }),
  fc.string({ unit: fc.constantFrom('\x1b', '\x9b', '\u202e', '\n', '\\', 'x', '\ufeff') }),
)

it('leaves no unsafe character in any text', () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(safeText(text, 1_000)).not.toMatch(HARMFUL)
    }),
  )
})

it('escapes JSON likewise without changing its value', () => {
  fc.assert(
    fc.property(fc.array(fc.dictionary(texts, texts)), (value) => {
      const json = safeOutput(JSON.stringify(value), false)
      expect(json).not.toMatch(HARMFUL)
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})
