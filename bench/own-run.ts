import { killLivingGroups } from '../local/processes/process.mjs'
import { endWithProcess } from '../tests/support/end-with-process.ts'
import { endProcesses, openTestRun, removeTestRun } from '../tests/support/test-run.ts'

/** A folder for what is started, and the end of all that, also when the benchmark is broken off. */
export function openOwnRun() {
  const run = openTestRun()
  const closers = [() => endProcesses(run), killLivingGroups]
  const end = endWithProcess(() => {
    for (const close of closers) close()
    removeTestRun(run)
  })
  return { run, end, atEnd: (close: () => void) => closers.push(close) }
}
