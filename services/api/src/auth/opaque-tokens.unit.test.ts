import { digestOf, parseTokenEntries } from '@plant-store/shared/access/token-entry.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { HttpError } from '../http/errors.ts'
import { opaqueTokens } from './opaque-tokens.ts'

const EXPIRY = '2027-01-31T00:00:00Z'
const digest = (token: string) => digestOf(token).toString('hex')
const entry = (label: string, token: string, ...attributes: string[]) =>
  [`${label}:${digest(token)}`, ...attributes].join(' ')
function accepting(...entries: string[]) {
  const known = parseTokenEntries(entries.join(','), 'here')
  return (token: string, now = 0) =>
    opaqueTokens(
      () => known,
      () => now,
    )(token)
}

it('a token has the caller and scopes of its entry, whichever entry it is', async () => {
  const accessOf = accepting(entry('ann', 'a', 'plants:read'), entry('bob', 'b', 'plants:write'), entry('eve', 'e'))
  expect(await accessOf('a')).toEqual({ caller: 'ann', scopes: ['plants:read'] })
  expect(await accessOf('b')).toEqual({ caller: 'bob', scopes: ['plants:write'] })
  expect(await accessOf('e')).toEqual({ caller: 'eve', scopes: ['plants:write', 'plants:read'] })
})

it('a rotated token keeps its caller, because old and new share a label', async () => {
  const accessOf = accepting(entry('ann', 'old'), entry('ann', 'new'))
  expect([(await accessOf('old'))?.caller, (await accessOf('new'))?.caller]).toEqual(['ann', 'ann'])
})

it('an unknown token has no access, nor does a digest sent as a token', async () => {
  const accessOf = accepting(entry('ann', 'a'))
  expect(await accessOf(digest('a'))).toBeUndefined()
  await fc.assert(
    fc.asyncProperty(fc.string(), async (token) => {
      expect((await accessOf(token))?.caller).toBe(token === 'a' ? 'ann' : undefined)
    }),
  )
})

it('a token is accepted until the instant of its expiry, and rejected as expired from then on', async () => {
  const accessOf = accepting(entry('ann', 'a', `expires=${EXPIRY}`), entry('bob', 'b'))
  const expiry = Date.parse(EXPIRY)
  expect(await accessOf('a', expiry - 1)).toMatchObject({ caller: 'ann' })
  const refused = accessOf('a', expiry)
  await expect(refused).rejects.toThrow(HttpError)
  await expect(refused).rejects.toMatchObject({
    failure: 'invalidToken',
    headers: { 'www-authenticate': expect.stringContaining('error_description="the token has expired"') },
  })
  expect(await accessOf('b', expiry)).toMatchObject({ caller: 'bob' })
})
