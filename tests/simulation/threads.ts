import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Found, Work } from './worker.ts'

/** Few enough that all threads end at about the same time. */
const SEEDS_AT_ONCE = 50

/** Threads without work, which have loaded the simulation. */
const idle: Worker[] = []

/** Plays seeds in a worker thread. */
export function playApart(work: Work): Promise<Found> {
  const worker = idle.pop() ?? new Worker(new URL('./worker.ts', import.meta.url))
  worker.ref()
  worker.postMessage(work)
  return new Promise((resolve, reject) => {
    worker.on('message', (found: Found) => {
      for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event)
      worker.unref()
      idle.push(worker)
      resolve(found)
    })
    worker.on('error', reject)
    worker.on('exit', () => reject(new Error(`a schedule did not end, one of the seeds from ${work.from} on`)))
  })
}

/** Does something with each item, with as many at a time as there are cores. */
export async function inParallel<T>(items: Iterable<T>, act: (item: T) => Promise<void>): Promise<void> {
  const left = Iterator.from(items)
  async function takeAll(): Promise<void> {
    for (const item of left) await act(item)
  }
  await Promise.all(Array.from({ length: availableParallelism() }, takeAll))
}

/** Plays `count` seeds, some at a time, and takes up no more of them once one has broken a guarantee. */
export async function playAll(from: number, count: number, onProgress: (played: number) => void): Promise<Found[]> {
  const all: Found[] = []
  await inParallel(Array(Math.ceil(count / SEEDS_AT_ONCE)).keys(), async (n) => {
    if (all.some(({ broken }) => broken !== undefined)) return
    const first = n * SEEDS_AT_ONCE
    all.push(await playApart({ from: from + first, count: Math.min(SEEDS_AT_ONCE, count - first) }))
    onProgress(all.reduce((sum, { played }) => sum + played, 0))
  })
  return all
}
