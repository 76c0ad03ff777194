import { expect, it } from 'vitest'
import { LIMIT_MS, simulate } from './simulated.ts'

it.each([
  // 400 more are in simulation.unit.test.ts, which also runs in `npm run test:all`.
  ['keeps every guarantee', ['--seeds', '3600'], /^3600 schedules .*\nEvery guarantee was kept\.$/m],
  ['catches every injected bug', ['--bugs', '--seeds', '20000'], /^([1-9]\d*) of \1 caught$/m],
])('the simulation %s', async (_what, args, result) => expect(await simulate(...args)).toMatch(result), LIMIT_MS)
