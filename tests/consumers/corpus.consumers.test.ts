import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { CORPUS_FILES, readCorpus } from '../support/corpus.ts'
import { runExample } from './run-example.ts'

// Each example prints one line for each line of the corpus, in the same format.
it.each(['python', 'java'])('%s reads the corpus as documented there', async (name) => {
  for (const file of CORPUS_FILES) {
    const results = await runExample(name, ['corpus', fileURLToPath(file)])
    expect(results.map((line) => JSON.parse(line))).toEqual(
      readCorpus(file).map(({ read, ruling }) => ({ read, ...(ruling !== undefined && { ruling }) })),
    )
  }
})
