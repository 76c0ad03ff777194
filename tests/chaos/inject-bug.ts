import { injectBug } from '../simulation/injected-bug.ts'
import { INJECTED_BUGS } from '../simulation/injected-bugs.ts'

// Loaded before a service by --import: injects the bug of the simulation that the environment names.

const bug = INJECTED_BUGS.find(({ name }) => name === process.env.CHAOS_BUG)
if (bug === undefined) throw new Error(`there is no injected bug "${process.env.CHAOS_BUG}"`)
injectBug(bug)
