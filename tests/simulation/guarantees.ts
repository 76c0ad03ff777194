import { randomInt } from 'node:crypto'
import { expect, it } from 'vitest'
import type { InjectedBug } from './injected-bug.ts'
import { playAll, playApart } from './threads.ts'

/** An injected bug must be caught within this number of seeds. */
const SEEDS_FOR_BUGS = 20_000
export const LIMIT_MS = 600_000

/** Plays schedules from a new seed in each run; no guarantee may break. */
export function keepsGuarantees(seeds: number): void {
  const from = randomInt(500_000_000)
  it(
    `keeps every guarantee (seeds ${from} to ${from + seeds - 1})`,
    async () => {
      const found = await playAll(from, seeds, () => {})
      const broken = found.filter(({ seed }) => seed !== undefined)
      expect(broken, 'npm run simulate -- --seed N shows how').toEqual([])
      const played = found.flatMap(({ from, played }) => Array.from({ length: played }, (_, n) => from + n))
      expect(played.sort((a, b) => a - b)).toEqual(Array.from({ length: seeds }, (_, n) => from + n))
    },
    LIMIT_MS,
  )
}

/** With each of these bugs a guarantee must break. */
export function catchesBugs(bugs: readonly InjectedBug[]): void {
  it.concurrent.each(bugs.map((bug) => [bug.name, bug] as const))(
    'is caught when it goes wrong: %s',
    async (_name, bug) => {
      const { broken } = await playApart({ from: bug.firstSeed, count: SEEDS_FOR_BUGS, bug })
      // A rare bug needs another seed when the drawing of schedules changes.
      expect(broken, `npm run simulate -- --bugs "${bug.name}" --from 1 --record looks further`).toBeDefined()
    },
    LIMIT_MS,
  )
}
