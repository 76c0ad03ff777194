import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { CORPUS_FILE, corpus } from '../support/corpus.ts'
import { runExample } from './run-example.ts'

// Each example prints one line for each line of the corpus, in the same format.
it.each(['python', 'java'])('%s reads the corpus as documented there', async (name) => {
  const results = await runExample(name, ['corpus', fileURLToPath(CORPUS_FILE)])
  expect(results.map((line) => JSON.parse(line))).toEqual(
    corpus.map(({ read, ruling }) => ({ read, ...(ruling !== undefined && { ruling }) })),
  )
})
