import { once } from 'node:events'
import { type MessagePort, parentPort } from 'node:worker_threads'
import type { InjectedBug } from './injected-bug.ts'
import { simulationWith } from './simulation-with-bug.ts'

/** Seeds for a worker, played one by one until one breaks a guarantee. */
export type Work = { from: number; count: number; bug?: InjectedBug }
/** A report of a worker; the last one has a seed or all seeds. */
export type Found = { played: number; seed?: number; broken?: string }

const REPORT_EVERY = 100
const port = parentPort as MessagePort

let thrown: string | undefined
process.on('unhandledRejection', (error) => {
  thrown ??= `throws: ${(error as Error).message}`
})

async function playSeeds({ from, count, bug }: Work): Promise<Found> {
  const { play, scheduleOf } = await (bug === undefined ? import('./play.ts') : simulationWith(bug))
  thrown = undefined
  for (let played = 1; played <= count; played++) {
    const seed = from + played - 1
    const broken = await play(scheduleOf(seed)).then(
      (result) => result.broken ?? thrown,
      (error: Error) => `throws: ${error.message}`,
    )
    if (broken !== undefined) return { played, seed, broken }
    if (played % REPORT_EVERY === 0 && played < count) port.postMessage({ played })
  }
  return { played: count }
}

// The thread ends, which is reported, when a schedule waits for something that never happens: it listens to its port
// only between two works.
while (true) {
  const [work] = (await once(port, 'message')) as [Work]
  port.postMessage(await playSeeds(work))
}
