import type { Time } from '@plant-store/shared/runtime/time.ts'
import { describe, expect, it } from 'vitest'
import { createPace } from './pace.ts'
import { NO_PROGRESS_MS } from './progress.ts'

/** Time that jumps to whatever is waited for next. */
function jumpingTime(): Time {
  let now = 0
  return {
    now: () => now,
    after(ms, callback) {
      let isTakenBack = false
      setImmediate(() => {
        if (isTakenBack) return
        now += ms
        callback()
      })
      return () => {
        isTakenBack = true
      }
    },
  }
}

describe('the pace of a rebuild', () => {
  it('that holds a fetch up for long tells all the time that the work goes on', async () => {
    const time = jumpingTime()
    const told = [0]
    const { signal } = new AbortController()
    await createPace(100, time)(70_000, signal, () => told.push(time.now()))
    expect(time.now()).toBe(700_000)
    const gaps = [...told, time.now()].slice(1).map((at, n) => at - (told[n] as number))
    expect(Math.max(...gaps)).toBeLessThan(NO_PROGRESS_MS)
  })

  it('holds up nothing that is broken off', async () => {
    const time = jumpingTime()
    const abort = new AbortController()
    await createPace(1, time)(70_000, abort.signal, () => abort.abort())
    expect(time.now()).toBeLessThan(NO_PROGRESS_MS)
  })
})
