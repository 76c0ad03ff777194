import { describe } from 'vitest'
import { catchesBugs, keepsGuarantees } from './guarantees.ts'
import { INJECTED_BUGS } from './injected-bugs.ts'

describe('the deciding code in a simulated world of faults', () => {
  keepsGuarantees(4_000)
  catchesBugs(INJECTED_BUGS)
})
