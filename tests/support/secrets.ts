import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'

/** A part of every secret of the tests. No log may contain it. */
export const SECRET_MARK = 'for-tests'

/** The mark, and the start of a signed token: two JSON objects in base64. */
const SECRET = new RegExp(`${SECRET_MARK}|eyJ[\\w-]*\\.eyJ`)

/** Fails when a line of a log in this folder has a secret of the tests. */
export function expectNoSecrets(folder: string): void {
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.log'))) {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n')
    expect(lines.filter((line) => SECRET.test(line))).toEqual([])
  }
}
