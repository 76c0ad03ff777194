import { randomInt } from 'node:crypto'
import { expect, it } from 'vitest'
import type { PlantedBug } from './planted-bug.ts'
import { FIRST_SEED, playAll, playApart } from './threads.ts'

/** A planted bug that is not caught within so many seeds counts as not caught. */
const SEEDS_FOR_BUGS = 20_000
export const LIMIT_MS = 300_000

/** The code as it is keeps every promise, from a new seed on in each run. */
export function keepsEveryPromise(seeds: number): void {
  const from = randomInt(500_000_000)
  it(
    `keeps every promise (seeds ${from} to ${from + seeds - 1})`,
    async () => {
      const broken = (await playAll(from, seeds, () => {})).filter(({ seed }) => seed !== undefined)
      expect(broken, 'npm run simulate -- --seed N shows how').toEqual([])
    },
    LIMIT_MS,
  )
}

/** With any of these bugs it breaks a promise. */
export function catchesBugs(bugs: readonly PlantedBug[]): void {
  it.concurrent.each(bugs.map((bug) => [bug.name, bug] as const))(
    'is caught when it goes wrong: %s',
    async (_name, bug) => {
      const { broken } = await playApart({ from: bug.near ?? FIRST_SEED, count: SEEDS_FOR_BUGS, bug })
      // A rare one may need another seed to start near when schedules are drawn in another way.
      expect(broken, `npm run simulate -- --bugs "${bug.name}" --from 1 looks further`).toBeDefined()
    },
    LIMIT_MS,
  )
}
