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

it('is readable by its owner alone if it is new', async () => {
  const file = join(temporaryFolder(), 'plants.jsonl')
  await (await openOutputFile(file)).finish()
  expect(statSync(file).mode & 0o777).toBe(0o600)
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

it('refuses a path that cannot be written before anything is read', async () => {
  const folder = temporaryFolder()
  for (const file of [join(folder, 'no', 'plants.jsonl'), folder, `${folder}/new/`, '']) {
    await expect(openOutputFile(file)).rejects.toThrow(UsageError)
  }
  expect(readdirSync(folder)).toEqual([])
})

it('replaces the target of a symbolic link, with its mode, and keeps the link', async () => {
  const folder = temporaryFolder()
  const [file, link] = [join(folder, 'plants.jsonl'), join(folder, 'link')]
  writeFileSync(file, 'before', { mode: 0o600 })
  symlinkSync('plants.jsonl', link)
  const output = await openOutputFile(link)
  await output.write('after')
  await output.finish()
  expect(lstatSync(link).isSymbolicLink()).toBe(true)
  expect(readFileSync(file, 'utf8')).toBe('after')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(new Set(readdirSync(folder))).toEqual(new Set(['link', 'plants.jsonl']))
})

it('refuses a FIFO, and links to it and to nothing', async () => {
  const folder = temporaryFolder()
  const fifo = join(folder, 'fifo')
  execFileSync('mkfifo', [fifo])
  symlinkSync('fifo', join(folder, 'link'))
  symlinkSync('nothing', join(folder, 'dangling'))
  for (const name of ['fifo', 'link', 'dangling'])
    await expect(openOutputFile(join(folder, name))).rejects.toThrow(/redirect stdout/)
  expect(lstatSync(fifo).isFIFO()).toBe(true)
  expect(readdirSync(folder).sort()).toEqual(['dangling', 'fifo', 'link'])
})
