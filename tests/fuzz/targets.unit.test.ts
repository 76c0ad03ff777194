import fc from 'fast-check'
import { describe, it } from 'vitest'
import { readCorpus } from './corpus.ts'
import * as targets from './targets.ts'

// `npm run fuzz` fuzzes with guidance by coverage. Here each target gets what such runs and people have found, and
// mutations of it.

const MUTATED_INPUTS = 2_000
const MAX_MUTATIONS = 4

type Mutation = (bytes: Buffer) => Buffer

const mutationBy = (corpus: Buffer[]): fc.Arbitrary<Mutation> =>
  fc.oneof(
    fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]) => replace(at, 1, Buffer.of(byte))),
    fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 8 })).map(([at, inserted]) => replace(at, 0, inserted)),
    fc.tuple(fc.nat(), fc.nat(16)).map(([at, length]) => replace(at, length, Buffer.alloc(0))),
    fc.tuple(fc.nat(), fc.nat(), fc.constantFrom(...corpus)).map(([at, length, other]) => replace(at, length, other)),
  )

function replace(at: number, length: number, inserted: Uint8Array): Mutation {
  return (bytes) => {
    const from = at % (bytes.length + 1)
    return Buffer.concat([bytes.subarray(0, from), inserted, bytes.subarray(from + length)])
  }
}

describe.each(Object.entries(targets))('%s', (name, target) => {
  const corpus = readCorpus(name)

  it.each(corpus.map((input, n) => [n + 1, input] as const))('line %d of the corpus', async (_line, input) => {
    await target(input)
  })

  it('mutations of the corpus', async () => {
    const mutations = fc.array(mutationBy(corpus), { minLength: 1, maxLength: MAX_MUTATIONS })
    const inputs = fc.tuple(fc.constantFrom(...corpus), mutations)
    await fc.assert(
      fc.asyncProperty(inputs, async ([input, all]) => {
        await target(all.reduce((bytes, mutate) => mutate(bytes), input))
      }),
      { numRuns: MUTATED_INPUTS },
    )
  })
})
