import { it } from 'vitest'
import type { Time } from '../runtime/time.ts'
import { NO_PROGRESS_MS, startWatchdog } from './replay.ts'

it('the time in which the process is stopped is no lack of progress', async () => {
  const watched = Promise.withResolvers<void>()
  let [now, waits] = [0, 0]
  const time: Time = {
    now: () => now,
    after(_, callback) {
      now += NO_PROGRESS_MS
      if (++waits > 10) watched.resolve()
      else setImmediate(callback)
      return () => {}
    },
  }
  startWatchdog(time, new AbortController().signal, () => watched.reject(new Error('stuck')))
  await watched.promise
})
