import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { InjectedBug } from './injected-bug.ts'
import type { Found, Work } from './worker.ts'

export const FIRST_SEED = 1

/** Threads without work, which have loaded the simulation. */
const idle: Worker[] = []

/** Plays seeds in a worker thread. Resolves with its last report. */
export function playApart(work: Work, onProgress: (played: number) => void = () => {}): Promise<Found> {
  const worker = idle.pop() ?? new Worker(new URL('./worker.ts', import.meta.url))
  worker.ref()
  worker.postMessage(work)
  return new Promise((resolve, reject) => {
    let played = 0
    worker.on('message', (found: Found) => {
      played = found.played
      onProgress(played)
      if (found.seed === undefined && played < work.count) return
      for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event)
      worker.unref()
      idle.push(worker)
      resolve(found)
    })
    worker.on('error', reject)
    worker.on('exit', () => reject(new Error(`a schedule did not end, one of the seeds from ${work.from + played} on`)))
  })
}

/** The seeds of each thread. */
export function sharesOf(from: number, count: number, threads: number): Work[] {
  const share = Math.ceil(count / threads)
  return Array.from({ length: threads }, (_, n) => ({
    from: from + n * share,
    count: Math.max(0, Math.min(share, count - n * share)),
  }))
}

/** Plays `count` seeds, shared among threads. Resolves with each thread's first broken guarantee, if any. */
export async function playAll(from: number, count: number, onProgress: (played: number) => void): Promise<Found[]> {
  const shares = sharesOf(from, count, availableParallelism())
  const played = shares.map(() => 0)
  return Promise.all(
    shares.map((share, n) =>
      playApart(share, (now) => {
        played[n] = now
        onProgress(played.reduce((sum, each) => sum + each, 0))
      }),
    ),
  )
}

/** Searches a seed for each bug, from `from` or the bug's own first seed on, several bugs at a time. */
export async function huntBugs(
  bugs: readonly InjectedBug[],
  from: number | undefined,
  maxSeeds: number,
  onEnd: (bug: InjectedBug, found: Found) => void,
): Promise<void> {
  const left = [...bugs]
  async function hunt(): Promise<void> {
    for (let bug = left.shift(); bug !== undefined; bug = left.shift()) {
      onEnd(bug, await playApart({ from: from ?? bug.firstSeed ?? FIRST_SEED, count: maxSeeds, bug }))
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, hunt))
}
