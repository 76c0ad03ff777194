import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { digestOf, parseTokenEntries } from '@plant-store/shared/access/token-entry.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { writeWhole } from '../../../../local/processes/whole-file.ts'
import { eventually } from '../../../../tests/support/eventually.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { temporaryFolder } from '../../../../tests/support/temporary-folder.ts'
import { findToken, opaqueTokens, openTokenFile } from './opaque-tokens.ts'

const EXPIRY = '2027-01-31T00:00:00Z'
const digest = (token: string) => digestOf(token).toString('hex')
const entry = (label: string, token: string, ...attributes: string[]) =>
  [`${label}:${digest(token)}`, ...attributes].join(' ')
function accepting(...entries: string[]) {
  const known = () => parseTokenEntries(entries.join(','), 'here')
  return (token: string, now = 0) => opaqueTokens(known, () => now)(token)
}

it('an unknown token has no access, nor does a digest sent as a token', async () => {
  const accessOf = accepting(entry('ann', 'a'))
  for (const token of ['', 'b', 'aa', 'A', digest('a')]) expect(await accessOf(token)).toBeUndefined()
})

it('a token is accepted until the instant of its expiry, and rejected as expired from then on', async () => {
  const accessOf = accepting(entry('ann', 'a', `expires=${EXPIRY}`), entry('bob', 'b'))
  const expiry = Date.parse(EXPIRY)
  expect(await accessOf('a', expiry - 1)).toMatchObject({ caller: 'ann' })
  await expect(accessOf('a', expiry)).rejects.toMatchObject({
    failure: 'invalidToken',
    headers: { 'www-authenticate': expect.stringContaining('error_description="the token has expired"') },
  })
  expect(await accessOf('b', expiry)).toMatchObject({ caller: 'bob' })
})

describe('the tokens of a file', () => {
  const pathOfFile = () => join(temporaryFolder(), 'token-digests')

  it('are reloaded when it changes, and stay valid while it is missing or invalid; each error is logged once', async () => {
    const file = pathOfFile()
    const errors: string[] = []
    const log = { ...quietLog, error: (text: string) => errors.push(text) } as unknown as Log
    writeFileSync(file, `${entry('ann', 'a')}\n`)
    const { current, readAt, close } = await openTokenFile(file, log, 10)
    onTestFinished(close)
    const callerOf = (token: string) => findToken(current(), token)?.label
    rmSync(file)
    await eventually(() => expect(errors).toEqual([expect.stringMatching(/ENOENT.*stays in use/)]))
    const lastReadAt = readAt()
    writeWhole(file, 'no entry\n')
    await eventually(() => expect(errors).toEqual([expect.anything(), expect.stringMatching(/stays in use/)]))
    expect([callerOf('a'), readAt()]).toEqual(['ann', lastReadAt])
    writeWhole(file, `${entry('bob', 'b')}\n`)
    await eventually(() => expect(['a', 'b'].map(callerOf)).toEqual([undefined, 'bob']))
    expect(errors).toHaveLength(2)
    await eventually(() => expect(readAt()).toBeGreaterThan(lastReadAt))
  })

  const text = entry('ann', 'a', 'plants:read', 'expires=2126-01-31T00:00:00Z')
  it.each([
    ['missing', undefined],
    ['cut off after a digest', text.slice(0, 68)],
    ['without its last line break', text],
  ])('are not those of a file that is %s', async (_what, part) => {
    const file = pathOfFile()
    if (part !== undefined) writeFileSync(file, part)
    await expect(openTokenFile(file, quietLog)).rejects.toThrow(PreconditionError)
  })
})
