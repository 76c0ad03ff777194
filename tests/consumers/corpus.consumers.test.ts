import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../local/places.mjs'
import { runExample } from './run-example.ts'

const FILE = join(root, 'docs/corpus/version-1.jsonl')

type Line = { read: object; ruling?: string; about: string }

// Each example prints one line for each line of the corpus, in the same format.
it.each(['python', 'java'])('%s reads the corpus as documented there', async (name) => {
  const lines = readFileSync(FILE, 'utf8').trimEnd().split('\n')
  const expected = lines.map((line) => JSON.parse(line) as Line)
  const results = (await runExample(name, ['corpus', FILE])).map((line) => JSON.parse(line) as Omit<Line, 'about'>)
  expect(results).toEqual(expected.map(({ read, ruling }) => ({ read, ...(ruling !== undefined && { ruling }) })))
})
