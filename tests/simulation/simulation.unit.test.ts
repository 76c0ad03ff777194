import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { pathOf, withBug } from './injected-bug.ts'
import { INJECTED_BUGS } from './injected-bugs.ts'
import { LIMIT_MS, simulate } from './simulated.ts'

describe('the deciding code in a simulated world of faults', () => {
  // The rest is in simulation.long.test.ts.
  it.each([
    ['keeps every guarantee', ['--seeds', '400'], /^400 schedules .*\nEvery guarantee was kept\.$/m],
    ['breaks one with bugs', ['--bugs', 'Redis', '--seeds', '20000'], /^([1-9]\d*) of \1 caught$/m],
  ])('%s', async (_what, args, result) => expect(await simulate(...args)).toMatch(result), LIMIT_MS)

  it(
    'plays the same from the same seed, and describes it, shrunk',
    async () => {
      const args = ['--seed', '1', '--bugs', 'the verdict is always created']
      const [first, second] = await Promise.all([simulate(...args), simulate(...args)])
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
