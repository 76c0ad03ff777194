import fc from 'fast-check'
import { expect, it } from 'vitest'
import { codePoints } from '../../../tests/support/generated-texts.ts'
import { safeOutput, safeText } from './safe-text.ts'

/** Characters that a terminal acts on, reorders or does not show. */
const HARMFUL = /[\p{Cc}\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u

it('characters that a terminal would act on are escaped, and long texts are cut between characters', () => {
  expect(safeText('a\x1b[31mred\r\n \\x1b', 99)).toBe('a\\u001b[31mred\\u000d\\u000a \\\\x1b')
  expect(safeText('Grüße, 蕨 🌿', 99)).toBe('Grüße, 蕨 🌿')
  expect(safeText('🌿🌿🌿', 2)).toBe('🌿🌿… (3 characters)')
})

const texts = fc.oneof(
  fc.string({ unit: codePoints }),
  fc.string({ unit: fc.constantFrom('\x1b', '\x9b', '\u202e', '\u2028', '\n', '\\', 'x', '\ufeff') }),
)

it('no text has an unsafe character, and JSON keeps its value', () => {
  fc.assert(
    fc.property(fc.dictionary(texts, texts), (value) => {
      const json = safeOutput(JSON.stringify(value), false)
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)))
      for (const shown of [json, ...Object.keys(value).map((text) => safeText(text, 1_000))])
        expect(shown).not.toMatch(HARMFUL)
    }),
  )
})
