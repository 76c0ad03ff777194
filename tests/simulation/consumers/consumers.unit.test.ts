import { randomInt } from 'node:crypto'
import type { OpenFirstClaims } from '@plant-store/shared/consumer/first-claims/first-claims.ts'
import type { Offset } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { describe, expect, it } from 'vitest'
import { play } from './play.ts'
import type { World } from './world.ts'

const SEEDS = 300
const LIMIT_MS = 120_000
const from = randomInt(500_000_000)

type Changed = (firstClaims: OpenFirstClaims, world: World) => OpenFirstClaims

/** The first seed that breaks a guarantee, and the guarantee. */
async function firstBroken(changed?: Changed) {
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

  it.each<[string, RegExp, Changed]>([
    [
      'the log is not read from the checkpoint of the first claims',
      /void claim|committed behind/,
      (claims, { log }) => ({
        ...claims,
        checkpointOf: async (partition) => checkpointAt((log.end(partition) - 1) as Offset, log.records(partition)),
      }),
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
