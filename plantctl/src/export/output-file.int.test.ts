import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FIRST, type Partition } from '@plant-store/shared/plant/position.ts'
import { expect, it } from 'vitest'
import { newPlant } from '../../../tests/support/generated-plants.ts'
import { newEventId } from '../../../tests/support/new-events.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { UsageError } from '../command.ts'
import { openOutputFile } from './output-file.ts'
import { writeExport } from './write-export.ts'

const modeOf = (file: string) => statSync(file).mode & 0o777

it('a file, or the target of a symbolic link, is replaced when the new one is complete, with its mode', async () => {
  const folder = temporaryFolder()
  const [file, link] = [join(folder, 'plants.jsonl'), join(folder, 'link')]
  await (await openOutputFile(file)).finish()
  expect(modeOf(file)).toBe(0o600)
  writeFileSync(file, 'before')
  symlinkSync('plants.jsonl', link)
  const output = await openOutputFile(link)
  await output.write('one\n')
  await output.write('two\n')
  expect(readFileSync(file, 'utf8')).toBe('before')
  await output.finish()
  expect(readFileSync(file, 'utf8')).toBe('one\ntwo\n')
  expect(lstatSync(link).isSymbolicLink()).toBe(true)
  expect(modeOf(file)).toBe(0o600)
  expect(readdirSync(folder).sort()).toEqual(['link', 'plants.jsonl'])
})

it('an export that is interrupted ends with its next plants, and leaves nothing behind', async () => {
  const folder = temporaryFolder()
  const interrupted = new AbortController()
  const print = async () => {}
  const context = { printData: print, printError: print, signal: interrupted.signal }
  const claim = { ...newPlant(1n), offset: FIRST, eventId: newEventId(), plant: newPlant(1n) }
  const exported = writeExport({ topic: 'plants' }, context, join(folder, 'plants.jsonl'), async ({ add }) => {
    await add(0 as Partition, [claim])
    interrupted.abort()
    while (true) await add(0 as Partition, [claim])
  })
  await expect(exported).rejects.toThrow('aborted')
  expect(readdirSync(folder)).toEqual([])
})

it('a path that cannot be written, a FIFO, and links to it and to nothing are refused', async () => {
  const folder = temporaryFolder()
  execFileSync('mkfifo', [join(folder, 'fifo')])
  symlinkSync('fifo', join(folder, 'link'))
  symlinkSync('nothing', join(folder, 'dangling'))
  for (const file of [join(folder, 'no', 'plants.jsonl'), folder, `${folder}/new/`, ''])
    await expect(openOutputFile(file)).rejects.toThrow(UsageError)
  for (const name of ['fifo', 'link', 'dangling'])
    await expect(openOutputFile(join(folder, name))).rejects.toThrow(/redirect stdout/)
  expect(lstatSync(join(folder, 'fifo')).isFIFO()).toBe(true)
  expect(readdirSync(folder).sort()).toEqual(['dangling', 'fifo', 'link'])
})
