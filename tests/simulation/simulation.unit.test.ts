import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { catchesBugs, keepsGuarantees, LIMIT_MS } from './guarantees.ts'
import { pathOf, withBug } from './injected-bug.ts'
import { INJECTED_BUGS } from './injected-bugs.ts'

/** The rest is in simulation.long.test.ts. */
const SEEDS = 400
const BUGS = 12

describe('the deciding code in a simulated world of faults', () => {
  keepsGuarantees(SEEDS)
  catchesBugs(drawn(INJECTED_BUGS, BUGS))

  it(
    'plays the same from the same seed, and describes it, shrunk',
    () => {
      const bug = 'the verdict is always created'
      const [first, second] = [replay(bug), replay(bug)]
      expect(first).toBe(second)
      expect(first).toMatch(/BREAKS a guarantee: a 200 whose event did not win/)
      const [, before, after] = /Shrunk from (\d+) steps to (\d+)/.exec(first) ?? []
      expect(Number(after)).toBeLessThan(Number(before) / 2)
    },
    LIMIT_MS,
  )

  it.each(INJECTED_BUGS)('has the text that this bug replaces: $name', (bug) => {
    const source = readFileSync(pathOf(bug), 'utf8')
    expect(withBug(source, bug)).not.toBe(source)
  })
})

/** `count` of them, others in each run. */
function drawn<T>(all: readonly T[], count: number): T[] {
  const left = [...all]
  return Array.from({ length: count }, () => left.splice(randomInt(left.length), 1)).flat()
}

function replay(bug: string): string {
  const program = fileURLToPath(new URL('simulate.ts', import.meta.url))
  try {
    return execFileSync(process.execPath, [program, '--seed', '1', '--bugs', bug], { encoding: 'utf8' })
  } catch (error) {
    // The exit code reports the broken guarantee.
    return (error as { stdout: string }).stdout
  }
}
