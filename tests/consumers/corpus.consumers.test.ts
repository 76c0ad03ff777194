import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../local/places.mjs'
import { runExample } from './run-example.ts'

const FILE = join(root, 'docs/corpus/version-1.jsonl')

type Line = { read: object; ruling?: string; about: string }

// Each tells a line for each of the corpus, in its words.
it.each(['python', 'java'])('%s reads the corpus as it says', async (name) => {
  const lines = readFileSync(FILE, 'utf8').trimEnd().split('\n')
  const expected = lines.map((line) => JSON.parse(line) as Line)
  const told = (await runExample(name, ['corpus', FILE])).map((line) => JSON.parse(line) as Omit<Line, 'about'>)
  expect(told).toEqual(expected.map(({ read, ruling }) => ({ read, ...(ruling !== undefined && { ruling }) })))
})
