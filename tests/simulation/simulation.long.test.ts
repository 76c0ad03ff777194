import { describe } from 'vitest'
import { catchesBugs, keepsGuarantees } from './guarantees.ts'
import { PLANTED_BUGS } from './planted-bugs.ts'

describe('the deciding code in a simulated world of faults', () => {
  keepsGuarantees(4_000)
  catchesBugs(PLANTED_BUGS)
})
