import { randomInt } from 'node:crypto'
import type { OpenFirstClaims } from '@plant-store/shared/consumer/first-claims/first-claims.ts'
import { describe, expect, it } from 'vitest'
import { play } from './play.ts'

const SEEDS = 300
const LIMIT_MS = 120_000
const from = randomInt(500_000_000)

/** The first seed that breaks a guarantee, and the guarantee. */
async function firstBroken(changed?: (firstClaims: OpenFirstClaims) => OpenFirstClaims) {
  for (let seed = from; seed < from + SEEDS; seed++) {
    const broken = await play(seed, changed)
    if (broken !== undefined) return { seed, broken }
  }
  return undefined
}

describe('consumers of one group, in a simulated world of faults', () => {
  it(
    `keep every guarantee (seeds ${from} to ${from + SEEDS - 1})`,
    async () => expect(await firstBroken()).toBeUndefined(),
    LIMIT_MS,
  )

  it.each<[string, RegExp, (firstClaims: OpenFirstClaims) => OpenFirstClaims]>([
    [
      'the log is not read from the checkpoint of the first claims',
      /void claim|committed behind/,
      (claims) => ({ ...claims, checkpointOf: async () => undefined }),
    ],
    [
      'a first claim is treated as a later one',
      /committed behind|never delivered/,
      (claims) => ({
        ...claims,
        firstAmong: async (...taken) => (await claims.firstAmong(...taken)).slice(0, 2),
      }),
    ],
  ])(
    'are caught when %s',
    async (_what, guarantee, changed) => expect((await firstBroken(changed))?.broken).toMatch(guarantee),
    LIMIT_MS,
  )
})
