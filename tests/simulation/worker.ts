import { once } from 'node:events'
import { type MessagePort, parentPort } from 'node:worker_threads'
import type { InjectedBug } from './injected-bug.ts'
import { simulationWith } from './simulation-with-bug.ts'

/** Seeds for a worker, played one by one until one breaks a guarantee. */
export type Work = { from: number; count: number; bug?: InjectedBug }
/** The number of seeds played from one on, and the last one if it broke a guarantee. */
export type Found = { from: number; played: number; seed?: number; broken?: string }

const port = parentPort as MessagePort

let thrown: string | undefined
process.on('unhandledRejection', (error) => {
  thrown ??= `throws: ${(error as Error).message}`
})

async function playSeeds({ from, count, bug }: Work): Promise<Found> {
  const { playSeed } = await (bug === undefined ? import('./play.ts') : simulationWith(bug))
  thrown = undefined
  for (let played = 1; played <= count; played++) {
    const seed = from + played - 1
    const broken = await playSeed(seed).then(
      (result) => result.broken ?? thrown,
      (error: Error) => `throws: ${error.message}`,
    )
    if (broken !== undefined) return { from, played, seed, broken }
  }
  return { from, played: count }
}

// The thread ends, which is reported, when a schedule waits for something that never happens: it listens to its port
// only between two works.
while (true) {
  const [work] = (await once(port, 'message')) as [Work]
  port.postMessage(await playSeeds(work))
}
