import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { UsageError } from '../command.ts'
import { openOutputFile } from './output-file.ts'

it('appears under its name when it is complete; until then the previous file stays', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'plants.jsonl')
  writeFileSync(file, 'before')
  const output = await openOutputFile(file)
  await output.write('one\n')
  await output.write('two\n')
  expect(readFileSync(file, 'utf8')).toBe('before')
  await output.finish()
  expect(readFileSync(file, 'utf8')).toBe('one\ntwo\n')
  expect(readdirSync(folder)).toEqual(['plants.jsonl'])
})

it('leaves nothing behind when it is abandoned', async () => {
  const folder = temporaryFolder()
  const output = await openOutputFile(join(folder, 'plants.jsonl'))
  await output.write('one\n')
  await output.abandon()
  expect(readdirSync(folder)).toEqual([])
})

it('refuses a path that cannot be written before anything is read', async () => {
  const folder = temporaryFolder()
  for (const file of [join(folder, 'no', 'plants.jsonl'), folder, '']) {
    await expect(openOutputFile(file)).rejects.toThrow(UsageError)
  }
  expect(readdirSync(folder)).toEqual([])
})
