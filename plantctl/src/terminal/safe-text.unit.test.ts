import fc from 'fast-check'
import { expect, it } from 'vitest'
import { safeOutput, safeText } from './safe-text.ts'

/** Characters that a terminal acts on, reorders or does not show. */
const HARMFUL: [first: number, last: number][] = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0x200b, 0x200b],
  [0x200e, 0x200f],
  [0x2028, 0x202e],
  [0x2066, 0x2069],
  [0xfeff, 0xfeff],
]
const harmfulIn = (text: string) =>
  Array.from(text).filter((character) => {
    const code = character.codePointAt(0) ?? 0
    return HARMFUL.some(([first, last]) => code >= first && code <= last)
  })

it('escapes characters that a terminal would act on', () => {
  expect(safeText('a\x1b[31mred\r\n', 99)).toBe('a\\u001b[31mred\\u000d\\u000a')
  expect(safeText('\u202eevil \\x1b', 99)).toBe('\\u202eevil \\\\x1b')
  expect(safeText('Grüße, 蕨 🌿', 99)).toBe('Grüße, 蕨 🌿')
})

it('cuts long texts between characters', () => {
  expect(safeText('🌿🌿🌿', 2)).toBe('🌿🌿… (3 characters)')
})

const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('\x1b', '\x9b', '\u202e', '\n', '\\', 'x', '\ufeff') }),
)

it('leaves no unsafe character in any text', () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(harmfulIn(safeText(text, 1_000))).toEqual([])
    }),
  )
})

it('escapes JSON likewise without changing its value', () => {
  fc.assert(
    fc.property(fc.array(fc.dictionary(texts, texts)), (value) => {
      const json = safeOutput(JSON.stringify(value), false)
      expect(harmfulIn(json)).toEqual([])
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})
