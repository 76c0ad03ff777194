import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { digestOf } from '@plant-store/shared/access/token-entry.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { writeWhole } from '../../../../local/processes/whole-file.ts'
import { eventually } from '../../../../tests/support/eventually.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { findToken, openTokenFile } from './opaque-tokens.ts'

const entry = (caller: string, token: string) => `${caller}:${digestOf(token).toString('hex')}`

function pathOfFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'token-file-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'token-digests')
}

async function openFile(file: string) {
  const errors: string[] = []
  const log = { ...quietLog, error: (text: string) => errors.push(text) } as unknown as Log
  const { current, readAt, close } = await openTokenFile(file, log, 10)
  onTestFinished(close)
  const accessOf = (token: string) => findToken(current(), token)
  return { errors, readAt, accessOf, callerOf: (token: string) => accessOf(token)?.label }
}

describe('the tokens of a file', () => {
  it('are reloaded when the file changes', async () => {
    const file = pathOfFile()
    writeFileSync(file, `${entry('ann', 'old')}\n`)
    const { callerOf } = await openFile(file)
    expect(['old', 'new'].map(callerOf)).toEqual(['ann', undefined])
    writeFileSync(file, `${entry('ann', 'old')}\n${entry('ann', 'new')}\n`)
    await eventually(() => expect(['old', 'new'].map(callerOf)).toEqual(['ann', 'ann']))
    writeFileSync(file, `${entry('ann', 'new')}\n`)
    await eventually(() => expect(['old', 'new'].map(callerOf)).toEqual([undefined, 'ann']))
  })

  it('stay valid while the file is missing or invalid, and each error is logged once', async () => {
    const file = pathOfFile()
    writeFileSync(file, `${entry('ann', 'a')}\n`)
    const { callerOf, errors, readAt } = await openFile(file)
    rmSync(file)
    await eventually(() => expect(errors).toEqual([expect.stringMatching(/ENOENT.*stays in use/)]))
    const lastReadAt = readAt()
    writeWhole(file, 'no entry\n')
    await eventually(() => expect(errors).toEqual([expect.anything(), expect.stringMatching(/stays in use/)]))
    expect(callerOf('a')).toBe('ann')
    expect(readAt()).toBe(lastReadAt)
    writeWhole(file, `${entry('bob', 'a')}\n`)
    await eventually(() => expect(callerOf('a')).toBe('bob'))
    expect(errors).toHaveLength(2)
    await eventually(() => expect(readAt()).toBeGreaterThan(lastReadAt))
  })

  it('are those of a whole file: each part of it changes nothing', async () => {
    const file = pathOfFile()
    const text = `${entry('bob', 'b')} plants:read expires=2126-01-31T00:00:00Z`
    writeFileSync(file, `${entry('ann', 'a')}\n`)
    const { accessOf, errors, readAt } = await openFile(file)
    for (const part of ['', text.slice(0, 68), text.slice(0, 80), text]) {
      const before = errors.length
      writeFileSync(file, part)
      await eventually(() => expect(errors.length).toBeGreaterThan(before))
      expect([accessOf('a')?.label, accessOf('b')]).toEqual(['ann', undefined])
      writeFileSync(file, `${entry('ann', 'a')}\n`)
      const lastReadAt = readAt()
      await eventually(() => expect(readAt()).toBeGreaterThan(lastReadAt))
    }
    writeFileSync(file, `${text}\n`)
    await eventually(() => expect(accessOf('b')).toMatchObject({ label: 'bob', scopes: ['plants:read'] }))
  })

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['cut off', entry('ann', 'a')],
  ])('are required at the start: a file that is %s is a wrong setting', async (_what, text) => {
    const file = pathOfFile()
    if (text !== undefined) writeFileSync(file, text)
    await expect(openFile(file)).rejects.toThrow(PreconditionError)
  })
})
