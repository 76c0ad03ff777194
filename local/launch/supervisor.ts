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

type Listeners = {
  /** Called when a process runs again. */
  onRunAgain(): void
  /** Called when a process cannot be kept running. */
  onGiveUp(error: Error): void
}

export function createSupervisor({ onRunAgain, onGiveUp }: Listeners) {
  const releasing = new AbortController()
  const { signal } = releasing
  const released = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)))
  const watches: Promise<void>[] = []

  async function watch(running: RunningProcess, start: Start): Promise<void> {
    const { name, logFile } = running
    const nextDelayMs = createRestartPolicy()
    while (true) {
      const exit = await Promise.race([running.exited, released])
      if (!exit || signal.aborted) return
      if (exit.code === EXIT_CONFIGURATION) throw cannotRun(running, 'cannot run until its configuration is changed')
      say(`! ${name} ended unexpectedly (${describeExit(exit)}), restarting it. Its log: ${logFile}`)
      running = await startAgain(running, start, nextDelayMs)
      onRunAgain()
      say(`  ${name} runs again (pid ${running.pid})`)
    }
  }

  async function startAgain(ended: RunningProcess, start: Start, nextDelayMs: () => number): Promise<RunningProcess> {
    while (true) {
      const delayMs = nextDelayMs()
      if (delayMs === Infinity)
        throw cannotRun(
          ended,
          `ended more than ${MAX_ENDS} times within ${ENDS_COUNT_MS / 1000} s and is not restarted`,
        )
      await delay(delayMs, undefined, { signal })
      try {
        return await start(signal)
      } catch (error) {
        signal.throwIfAborted()
        say(`! ${describe(error)}`)
      }
    }
  }

  return {
    keep(running: RunningProcess, start: Start): void {
      const watching = watch(running, start).catch((error) => {
        if (!signal.aborted) onGiveUp(error)
      })
      watches.push(watching)
    },

    /** Ends all restarts; what runs is for the caller to stop. */
    async release(): Promise<void> {
      releasing.abort()
      await Promise.all(watches)
    },
  }
}

/**
 * The wait before the next restart, called at each unexpected end. It grows each time, because the process may need
 * another one that is restarting itself. Infinity: no further restart.
 */
function createRestartPolicy(): () => number {
  let ends: number[] = []
  return () => {
    const now = performance.now()
    ends = [...ends.filter((end) => now - end < ENDS_COUNT_MS), now]
    return ends.length > MAX_ENDS ? Infinity : 125 * 2 ** ends.length
  }
}

function cannotRun({ name, logFile, logStart }: RunningProcess, what: string): Failure {
  return new Failure(`${name} ${what}. Its last error:\n${lastError(logFile, logStart)}\nIts log: ${logFile}`)
}
