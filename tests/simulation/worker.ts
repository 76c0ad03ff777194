import { parentPort, workerData } from 'node:worker_threads'
import { type InjectedBug, injectBug } from './injected-bug.ts'

/** The seeds of a worker, played one by one until one breaks a guarantee. */
export type Work = { from: number; count: number; bug?: InjectedBug }
export type Found = { played: number; seed?: number; broken?: string }

const REPORT_EVERY = 100
const { from, count, bug } = workerData as Work
if (bug !== undefined) injectBug(bug)
// Imported after the bug is injected.
const { play, scheduleOf } = await import('./play.ts')

let thrown: string | undefined
process.on('unhandledRejection', (error) => {
  thrown ??= `throws: ${(error as Error).message}`
})

async function playSeed(seed: number): Promise<string | undefined> {
  try {
    return (await play(scheduleOf(seed))).broken ?? thrown
  } catch (error) {
    return `throws: ${(error as Error).message}`
  }
}

let found: Found = { played: 0 }
while (found.played < count && found.seed === undefined) {
  const seed = from + found.played
  const broken = await playSeed(seed)
  found = { played: found.played + 1, ...(broken !== undefined && { seed, broken }) }
  if (found.played % REPORT_EVERY === 0) parentPort?.postMessage(found)
}
parentPort?.postMessage(found)
