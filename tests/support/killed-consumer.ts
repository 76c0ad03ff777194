import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { inject } from 'vitest'
import { startProcess } from '../../local/processes/process.ts'
import { newGroup } from './consumed-plants.ts'
import type { ConsumerTask } from './consumer-process.ts'
import { processEnvironment, registerProcess } from './test-run.ts'

const PROGRAM = new URL('consumer-process.ts', import.meta.url).pathname
const LOOK_EVERY_MS = 5
const DELIVERS_WITHIN_MS = 60_000
const STOP_GRACE_MS = 1_000

/** An event as a consumer's process noted it; `life` is the number of the process. */
export type Noted = { life: number; partition: number; offset: number; eventId: string }

/** A consumer in a separate process, to be killed and restarted; the test has to close it. */
export function createKilledConsumer(
  given: Omit<ConsumerTask, 'groupId' | 'deliveries' | 'claimFile'>,
  folder: string,
  groupId = newGroup(),
) {
  const logFile = join(folder, `${given.firstClaims}.log`)
  let life = 0
  let isFrozen = false
  let running: Awaited<ReturnType<typeof startProcess>> | undefined
  const fileOf = (number: number) => join(folder, `${given.firstClaims}-${number}.txt`)

  function linesOf(number: number): string[] {
    return existsSync(fileOf(number)) ? readFileSync(fileOf(number), 'utf8').split('\n').slice(0, -1) : []
  }

  async function start(): Promise<void> {
    life++
    const claimFile = join(folder, 'claims.sqlite')
    const task: ConsumerTask = { ...given, groupId, deliveries: fileOf(life), claimFile }
    running = await startProcess({
      name: `consumer ${given.firstClaims}`,
      command: process.execPath,
      args: [PROGRAM, JSON.stringify(task)],
      logFile,
      env: processEnvironment,
    })
    registerProcess(inject('testRun'), running)
  }

  function signal(name: NodeJS.Signals): void {
    if (running !== undefined) process.kill(-running.pid, name)
  }

  function goOn(): void {
    if (isFrozen) signal('SIGCONT')
    isFrozen = false
  }

  async function untilNoted(events: number): Promise<void> {
    const until = performance.now() + DELIVERS_WITHIN_MS
    while (linesOf(life).length < events) {
      if (performance.now() > until) throw new Error(`${given.firstClaims} delivers nothing; see ${logFile}`)
      await delay(LOOK_EVERY_MS)
    }
  }

  return {
    start,
    /** Waits until the running process has noted `events` events. */
    untilNoted,
    /** Suspends the process until `goOn`. */
    freeze(): void {
      isFrozen = true
      signal('SIGSTOP')
    },
    goOn,

    /** Runs a process until it has noted `events` events, and a little longer; then kills it with SIGKILL. */
    async liveAndDie(events: number, moreMs: number): Promise<void> {
      await start()
      await untilNoted(events)
      await delay(moreMs)
      signal('SIGKILL')
      await running?.exited
      running = undefined
    },

    /** The events that all its processes noted, in the order of each process. */
    noted(): Noted[] {
      return Array.from({ length: life }, (_, index) =>
        linesOf(index + 1).map((line) => {
          const [partition, offset, eventId = ''] = line.split(' ')
          return { life: index + 1, partition: Number(partition), offset: Number(offset), eventId }
        }),
      ).flat()
    },

    async close(): Promise<void> {
      goOn()
      await running?.stop({ graceMs: STOP_GRACE_MS })
    },
  }
}
