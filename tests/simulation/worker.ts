import { parentPort, workerData } from 'node:worker_threads'
import { plantBug } from './plant-bug.ts'
import type { PlantedBug } from './planted-bugs.ts'

/** Which seeds a worker plays, one after the other until one breaks a promise. */
export type Work = { from: number; count: number; bug?: PlantedBug }
export type Found = { played: number; seed?: number; broken?: string }

const REPORT_EVERY = 100
const { from, count, bug } = workerData as Work
if (bug !== undefined) plantBug(bug)
// After the bug was planted.
const { play, scheduleOf } = await import('./play.ts')

let played = 0
let found: Found | undefined
for (let seed = from; seed < from + count && found === undefined; seed++) {
  const { broken } = await play(scheduleOf(seed))
  played++
  if (broken !== undefined) found = { played, seed, broken }
  else if (played % REPORT_EVERY === 0) parentPort?.postMessage({ played })
}
parentPort?.postMessage(found ?? { played })
