import fc from 'fast-check'
import { expect, it } from 'vitest'
import { lengthOf } from './table.ts'
import { wrapped } from './wrap.ts'

it('lines break between words, and stand below the first one', () => {
  expect(wrapped('! ', 'the read model is behind the log', 20)).toEqual([
    '! the read model is',
    '  behind the log',
  ])
  expect(wrapped('- ', 'short', 80)).toEqual(['- short'])
  expect(wrapped('- ', 'never broken', Number.POSITIVE_INFINITY)).toEqual(['- never broken'])
})

it('nothing is lost, and nothing is wider than the terminal but a word that is', () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{1,18}$/), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(words, fc.integer({ min: 22, max: 120 }), (words, columns) => {
      const lines = wrapped('! ', words.join(' '), columns)
      expect(lines.map((line) => line.slice(2)).join(' ')).toBe(words.join(' '))
      expect(Math.max(...lines.map(lengthOf))).toBeLessThanOrEqual(columns)
    }),
  )
})
