import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { digestOf } from '@plant-store/shared/access/token-entry.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../../tests/support/eventually.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { temporaryFolder } from '../../../../tests/support/temporary-folder.ts'
import { findToken, openTokenFile } from './opaque-tokens.ts'

const entry = (caller: string, token: string) => `${caller}:${digestOf(token).toString('hex')}`

async function openFile(file: string) {
  const errors: string[] = []
  const log = { ...quietLog, error: (text: string) => errors.push(text) } as unknown as Log
  const { entries, close } = await openTokenFile(file, log, 10)
  onTestFinished(close)
  return { errors, callerOf: (token: string) => findToken(entries(), token)?.label }
}

describe('the tokens of a file', () => {
  it('are reloaded when the file changes', async () => {
    const file = join(temporaryFolder(), 'token-digests')
    writeFileSync(file, `${entry('ann', 'old')}\n`)
    const { callerOf } = await openFile(file)
    expect(['old', 'new'].map(callerOf)).toEqual(['ann', undefined])
    writeFileSync(file, `${entry('ann', 'old')}\n${entry('ann', 'new')}\n`)
    await eventually(() => expect(['old', 'new'].map(callerOf)).toEqual(['ann', 'ann']))
    writeFileSync(file, `${entry('ann', 'new')}\n`)
    await eventually(() => expect(['old', 'new'].map(callerOf)).toEqual([undefined, 'ann']))
  })

  it('stay valid while the file is missing or invalid, and each error is logged once', async () => {
    const file = join(temporaryFolder(), 'token-digests')
    writeFileSync(file, entry('ann', 'a'))
    const { callerOf, errors } = await openFile(file)
    rmSync(file)
    await eventually(() => expect(errors).toEqual([expect.stringMatching(/ENOENT.*stay valid/)]))
    writeFileSync(file, 'no entry')
    await eventually(() => expect(errors).toEqual([expect.anything(), expect.stringMatching(/stay valid/)]))
    expect(callerOf('a')).toBe('ann')
    writeFileSync(file, entry('bob', 'a'))
    await eventually(() => expect(callerOf('a')).toBe('bob'))
    expect(errors).toHaveLength(2)
  })

  it('are required at the start', async () => {
    const file = join(temporaryFolder(), 'token-digests')
    await expect(openFile(file)).rejects.toThrow(PreconditionError)
    writeFileSync(file, '')
    await expect(openFile(file)).rejects.toThrow(PreconditionError)
  })
})
