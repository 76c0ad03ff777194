import fc from 'fast-check'
import { expect, it } from 'vitest'
import { requestIdOf } from './request-head.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const idOf = (given?: string) => requestIdOf({ headers: given === undefined ? {} : { 'x-request-id': given } })
const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code))
const others = fc.constantFrom(' ', '\t', '\n', '\u007f', '\u0080', 'é', '🌱')
const unit = fc.oneof({ weight: 200, arbitrary: visible }, others)

it('the id of a request is the one of the client if it has 1 to 128 visible ASCII characters, otherwise a new one', () => {
  const created = new Set<string>()
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 300, size: 'max' }), (given) => {
      const isValid = /^[\x21-\x7e]{1,128}$/.test(given)
      expect(idOf(given)).toEqual(isValid ? given : expect.stringMatching(UUID))
      created.add(idOf())
    }),
    { numRuns: 1_000 },
  )
  expect(created.size).toBe(1_000)
})
