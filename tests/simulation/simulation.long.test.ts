import { describe } from 'vitest'
import { catchesBugs, keepsGuarantees } from './guarantees.ts'
import { INJECTED_BUGS } from './injected-bugs.ts'

describe('the deciding code in a simulated world of faults', () => {
  // 400 more are in simulation.unit.test.ts, which also runs in `npm run test:all`.
  keepsGuarantees(3_600)
  catchesBugs(INJECTED_BUGS)
})
