import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, Failure } from '../processes/failure.mjs'
import { lastError } from '../processes/log-file.ts'
import { describeExit, type RunningProcess } from '../processes/process.ts'
import { say } from './progress.ts'

export type Start = (signal: AbortSignal) => Promise<RunningProcess>

/** EX_CONFIG of sysexits.h: a restart does not help, a person has to change something. */
const EXIT_CONFIGURATION = 78
/** A process that ends more often than this within the time is not restarted. */
const MAX_ENDS = 5
const ENDS_COUNT_MS = 60_000
const MANY_ENDS = `ended more than ${MAX_ENDS} times within ${ENDS_COUNT_MS / 1000} s and is not restarted`

/** `onRunAgain` is called when a process runs again. */
export function createSupervisor(onRunAgain: () => void) {
  const gaveUp = new AbortController()
  const releasing = new AbortController()
  const { signal } = releasing
  const released = once(signal, 'abort').then(() => undefined)
  const watches: Promise<void>[] = []

  async function watch(running: RunningProcess, start: Start): Promise<void> {
    const { name, logFile } = running
    let ends: number[] = []
    while (true) {
      const exit = await Promise.race([running.exited, released])
      if (!exit || signal.aborted) return
      if (exit.code === EXIT_CONFIGURATION) throw cannotRun(running, 'cannot run until its configuration is changed')
      say(`! ${name} ended unexpectedly (${describeExit(exit)}), restarting it. Its log: ${logFile}`)
      let again: RunningProcess | undefined
      while (!again) {
        const now = performance.now()
        ends = [...ends.filter((end) => now - end < ENDS_COUNT_MS), now]
        if (ends.length > MAX_ENDS) throw cannotRun(running, MANY_ENDS)
        // It grows, because the process may need another one that is restarting itself.
        await delay(125 * 2 ** ends.length, undefined, { signal })
        again = await start(signal).catch(report)
      }
      running = again
      onRunAgain()
      say(`  ${name} runs again (pid ${running.pid})`)
    }
  }

  function report(error: unknown): undefined {
    signal.throwIfAborted()
    say(`! ${describe(error)}`)
  }

  return {
    /** Aborts, with the error, when a process cannot be kept running. */
    gaveUp: gaveUp.signal,

    keep(running: RunningProcess, start: Start): void {
      watches.push(
        watch(running, start).catch((error) => {
          if (!signal.aborted) gaveUp.abort(error)
        }),
      )
    },

    /** Ends all restarts; what runs is for the caller to stop. */
    async release(): Promise<void> {
      releasing.abort()
      await Promise.all(watches)
    },
  }
}

function cannotRun({ name, logFile, logStart }: RunningProcess, what: string): Failure {
  return new Failure(`${name} ${what}. Its last error:\n${lastError(logFile, logStart)}\nIts log: ${logFile}`)
}
