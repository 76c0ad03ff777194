import { createHash } from 'node:crypto'
import { PreconditionError } from '@plant-store/shared/process/failures.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTokenCheck, parseTokenDigests } from './tokens.ts'

const ORIGIN = 'PLANT_STORE_TOKEN_DIGESTS'
const digest = (token: string) => createHash('sha256').update(token).digest('hex')
const entry = (caller: string, token: string) => `${caller}:${digest(token)}`
const checkOf = (...entries: string[]) => createTokenCheck(parseTokenDigests(entries.join(','), ORIGIN))

describe('the setting of token digests', () => {
  it('names callers by label, with or without space around the commas, or each on a line', () => {
    const [ann, bob] = [entry('ann', 'a'), entry('bob.the-2nd_x', 'b')]
    for (const entries of [` ${ann} , ${bob} `, `${ann}\n${bob}\n`, `${ann}\r\n\r\n${bob}`]) {
      const known = parseTokenDigests(entries, ORIGIN)
      expect(known.map(({ caller }) => caller)).toEqual(['ann', 'bob.the-2nd_x'])
      expect(known.map(({ digest }) => digest.length)).toEqual([32, 32])
    }
  })

  it.each([
    ['nothing', ''],
    ['an empty entry', `${entry('ann', 'a')},`],
    ['no label', `:${digest('a')}`],
    ['no digest', 'ann:'],
    ['a label alone', 'ann'],
    ['a token in place of its digest', 'ann:a-secret-token'],
    ['a digest that is too short', `ann:${digest('a').slice(1)}`],
    ['a digest that is too long', `ann:${digest('a')}0`],
    ['a digest in upper case', `ann:${digest('a').toUpperCase()}`],
    ['a label in upper case', entry('Ann', 'a')],
    ['a label with a space', entry('a nn', 'a')],
    ['a label that is too long', entry('a'.repeat(65), 'a')],
    ['the wrong separator', `${entry('ann', 'a')};${entry('bob', 'b')}`],
  ])('is refused with %s, and the message repeats none of it', (_fault, setting) => {
    const parse = () => parseTokenDigests(setting, ORIGIN)
    expect(parse).toThrow(PreconditionError)
    expect(parse).toThrow(/PLANT_STORE_TOKEN_DIGESTS/)
    expect(parse).not.toThrow(/a-secret-token|ann|[0-9a-f]{20}/i)
  })
})

describe('a token', () => {
  it('tells its caller, whichever entry it is', () => {
    const callerOf = checkOf(entry('ann', 'a'), entry('bob', 'b'), entry('eve', 'e'))
    expect(['a', 'b', 'e'].map(callerOf)).toEqual(['ann', 'bob', 'eve'])
  })

  it('that is rotated keeps its caller: old and new share a label', () => {
    const callerOf = checkOf(entry('ann', 'old'), entry('ann', 'new'))
    expect(['old', 'new'].map(callerOf)).toEqual(['ann', 'ann'])
  })

  it('that nobody has tells nothing, nor does a digest sent as a token', () => {
    const callerOf = checkOf(entry('ann', 'a'))
    expect(callerOf(digest('a'))).toBeUndefined()
    fc.assert(
      fc.property(fc.string(), (token) => {
        expect(callerOf(token)).toBe(token === 'a' ? 'ann' : undefined)
      }),
    )
  })
})
