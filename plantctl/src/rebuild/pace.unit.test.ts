import { NO_PROGRESS_MS } from '@plant-store/shared/event-log/replay.ts'
import type { Time } from '@plant-store/shared/runtime/time.ts'
import { describe, expect, it } from 'vitest'
import { createPace } from './rebuild-progress.ts'

/** A clock that jumps to the next timer. */
function jumpingTime(): Time {
  let now = 0
  return {
    now: () => now,
    after(ms, callback) {
      let isCancelled = false
      setImmediate(() => {
        if (isCancelled) return
        now += ms
        callback()
      })
      return () => {
        isCancelled = true
      }
    },
  }
}

describe('the pace of a rebuild', () => {
  it('reports that the work is alive during a long wait', async () => {
    const time = jumpingTime()
    const aliveAt = [0]
    const { signal } = new AbortController()
    await createPace(100, time)(70_000, signal, () => aliveAt.push(time.now()))
    expect(time.now()).toBe(700_000)
    const gaps = [...aliveAt, time.now()].slice(1).map((at, n) => at - (aliveAt[n] as number))
    expect(Math.max(...gaps)).toBeLessThan(NO_PROGRESS_MS)
  })

  it('does not delay an interruption', async () => {
    const time = jumpingTime()
    const abort = new AbortController()
    await createPace(1, time)(70_000, abort.signal, () => abort.abort())
    expect(time.now()).toBeLessThan(NO_PROGRESS_MS)
  })
})
