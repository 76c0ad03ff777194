import { describe } from 'vitest'
import { PLANTED_BUGS } from './planted-bugs.ts'
import { catchesBugs, keepsEveryPromise } from './promises.ts'

describe('the deciding code in a simulated world of faults', () => {
  keepsEveryPromise(4_000)
  catchesBugs(PLANTED_BUGS)
})
