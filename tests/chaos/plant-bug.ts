import { plantBug } from '../simulation/planted-bug.ts'
import { PLANTED_BUGS } from '../simulation/planted-bugs.ts'

// Loaded before a service by --import: plants the bug of the simulation that the environment names.

const bug = PLANTED_BUGS.find(({ name }) => name === process.env.CHAOS_BUG)
if (bug === undefined) throw new Error(`there is no planted bug "${process.env.CHAOS_BUG}"`)
plantBug(bug)
