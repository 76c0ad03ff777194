import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PreconditionError } from '../runtime/failures.ts'
import { SCOPES } from './scope.ts'
import { digestOf, formatTokenEntry, parseTokenEntries, type TokenEntry } from './token-entry.ts'

const ORIGIN = 'PLANT_STORE_TOKEN_DIGESTS'
const digest = (token: string) => digestOf(token).toString('hex')
const entry = (label: string, token: string) => `${label}:${digest(token)}`
const parse = (text: string) => parseTokenEntries(text, ORIGIN)

const LAST_SECOND = Date.parse('9999-12-31T23:59:59Z') / 1000
const entries: fc.Arbitrary<TokenEntry> = fc
  .record({
    label: fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,63}$/),
    digest: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
    scopes: fc.subarray([...SCOPES], { minLength: 1 }),
    expiresAtSeconds: fc.option(fc.integer({ min: 0, max: LAST_SECOND }), { nil: undefined }),
  })
  .map(({ expiresAtSeconds, ...known }) =>
    expiresAtSeconds === undefined ? known : { ...known, expiresAtMs: expiresAtSeconds * 1000 },
  )
const differing = fc.uniqueArray(entries, {
  ...{ minLength: 1, maxLength: 8 },
  selector: (each) => each.digest.toString('hex'),
})

it('the digest of a token is its SHA-256', () => {
  // The example of FIPS 180-2, B.1.
  expect(digest('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})

describe('entries of tokens', () => {
  it('are read as they are written, whatever separates them, with attributes in any order', () => {
    const separators = fc.constantFrom(',', '\n', ' , ', '\r\n', ',\n', '\n\n  ')
    const orders = fc.infiniteStream(fc.nat())
    fc.assert(
      fc.property(differing, separators, fc.integer({ min: 1, max: 3 }), orders, (known, between, width, order) => {
        const texts = known.map((one) => {
          const [identity, ...attributes] = formatTokenEntry(one).split(' ')
          const shuffled = attributes.map((text) => ({ text, at: order.next().value })).sort((a, b) => a.at - b.at)
          return [identity, ...shuffled.map(({ text }) => text)].join(' '.repeat(width))
        })
        expect(parse(` ${texts.join(between)} \n`)).toEqual(known)
      }),
    )
  })

  it('have all scopes when they name none, and may share a label, as the tokens of a rotation', () => {
    const scopes = ['plants:write', 'plants:read']
    expect(parse(`${entry('ann', 'old')},${entry('ann', 'new')} expires=2027-01-31T00:00:00Z`)).toEqual([
      { label: 'ann', digest: digestOf('old'), scopes },
      { label: 'ann', digest: digestOf('new'), scopes, expiresAtMs: Date.UTC(2027, 0, 31) },
    ])
  })

  const ANN = entry('ann', 'a')
  it.each([
    ['nothing', '', 1],
    ['an empty entry', `${ANN},`, 2],
    ['a token in place of its digest', 'ann:a-secret-token', 1],
    ['a digest that is too short', ANN.slice(0, -1), 1],
    ['a digest in upper case', `ann:${digest('a').toUpperCase()}`, 1],
    ['a label that is too long', entry('a'.repeat(65), 'a'), 1],
    ['an unknown scope', `${ANN} plants:delete`, 1],
    ['a scope twice', `${ANN} plants:read plants:read`, 1],
    ['two expiries', `${ANN} expires=2027-01-01T00:00:00Z expires=2028-01-01T00:00:00Z`, 1],
    ['an invalid expiry', `${ANN} expires=a-secret-token`, 1],
    ['a day that does not exist', `${ANN} expires=2027-02-29T00:00:00Z`, 1],
    ['a local time', `${ANN} expires=2027-01-01T00:00:00+01:00`, 1],
    ['one token for two', `${ANN},${entry('bob', 'b')},${entry('eve', 'a')}`, 3],
    ['more than the limit', Array.from({ length: 1_001 }, (_, n) => entry('ann', `${n}`)).join('\n'), 1_001],
  ])('are rejected with %s, and the message does not repeat them', (_fault, text, number) => {
    expect(() => parse(text)).toThrow(PreconditionError)
    expect(() => parse(text)).toThrow(new RegExp(`^settings: entry ${number} of PLANT_STORE_TOKEN_DIGESTS `))
    expect(() => parse(text)).not.toThrow(/a-secret-token|ann|bob|[0-9a-f]{20}/i)
  })
})
