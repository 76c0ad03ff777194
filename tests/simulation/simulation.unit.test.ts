import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { PLANTED_BUGS } from './planted-bugs.ts'
import { FIRST_SEED, playAll, playApart } from './threads.ts'

const SEEDS = 4_000
/** A planted bug that is not caught within so many seeds counts as not caught. */
const SEEDS_FOR_BUGS = 20_000
const LIMIT_MS = 300_000

describe('the code that decides, in a simulated world of faults', () => {
  const from = randomInt(500_000_000)

  it(
    `keeps every promise (seeds ${from} to ${from + SEEDS - 1})`,
    async () => {
      const broken = (await playAll(from, SEEDS, () => {})).filter(({ seed }) => seed !== undefined)
      expect(broken, 'npm run simulate -- --seed N tells how').toEqual([])
    },
    LIMIT_MS,
  )

  it.concurrent.each(PLANTED_BUGS.map((bug) => [bug.name, bug] as const))(
    'is caught when it goes wrong: %s',
    async (_name, bug) => {
      const { broken } = await playApart({ from: bug.near ?? FIRST_SEED, count: SEEDS_FOR_BUGS, bug })
      // A rare one may need another seed to begin near when schedules are drawn in another way.
      expect(broken, `npm run simulate -- --bugs "${bug.name}" --from 1 looks further`).toBeDefined()
    },
    LIMIT_MS,
  )

  it(
    'does the same again from the same seed, and tells it in words, shrunk',
    () => {
      const bug = 'the verdict is always 200'
      const [first, second] = [replay(bug), replay(bug)]
      expect(first).toBe(second)
      expect(first).toMatch(/BREAKS a promise: a 200 whose event did not win/)
      const [, before, after] = /Shrunk from (\d+) steps to (\d+)/.exec(first) ?? []
      expect(Number(after)).toBeLessThan(Number(before) / 2)
    },
    LIMIT_MS,
  )
})

function replay(bug: string): string {
  const program = fileURLToPath(new URL('simulate.ts', import.meta.url))
  try {
    return execFileSync(process.execPath, [program, '--seed', '1', '--bugs', bug], { encoding: 'utf8' })
  } catch (error) {
    // The exit code says that a promise was broken.
    return (error as { stdout: string }).stdout
  }
}
