import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { requestIdOf } from './request-id.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const idOf = (given?: string) =>
  requestIdOf({ headers: given === undefined ? {} : { 'x-request-id': given } })
const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code))

describe('the id of a request', () => {
  it('is the one given, when it has 1 to 128 visible ASCII characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: visible, minLength: 1, maxLength: 128 }), (given) => {
        expect(idOf(given)).toBe(given)
      }),
    )
  })

  it('is a new one for anything else', () => {
    const invisible = fc.constantFrom(' ', '\t', '\n', '\u007f', '\u0080', 'é', '🌱')
    const broken = fc
      .tuple(
        fc.string({ unit: visible, maxLength: 60 }),
        invisible,
        fc.string({ unit: visible, maxLength: 60 }),
      )
      .map((parts) => parts.join(''))
    const tooLong = fc.string({ unit: visible, minLength: 129, maxLength: 300 })
    fc.assert(
      fc.property(fc.oneof(broken, tooLong, fc.constant('')), (given) => {
        expect(idOf(given)).toMatch(UUID)
      }),
    )
  })

  it('has neither none nor more than 128 characters', () => {
    expect(idOf('x'.repeat(128))).toBe('x'.repeat(128))
    expect([idOf(''), idOf('x'.repeat(129))]).toEqual([
      expect.stringMatching(UUID),
      expect.stringMatching(UUID),
    ])
  })

  it('is another new one each time', () => {
    expect(new Set(Array.from({ length: 100 }, () => idOf())).size).toBe(100)
  })
})
