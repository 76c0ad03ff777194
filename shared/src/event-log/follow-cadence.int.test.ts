import { expect, it, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import type { Partition } from '../plant/position.ts'
import { systemTime, type Time } from '../runtime/time.ts'

const WAIT_MS = 20_000
const P = 0 as Partition
/** Longer than any other delay of a follower. */
const FETCH_EVERY_MS = 60_000
const FETCH_PACE = { records: 1, shortestMs: FETCH_EVERY_MS, longestMs: FETCH_EVERY_MS }

/** The system's time, except that the delay before the next fetch lasts until `endAll`. */
function timeWithManualFetches() {
  const waits = new Set<() => void>()
  const after: Time['after'] = (ms, callback) => {
    if (ms !== FETCH_EVERY_MS) return systemTime.after(ms, callback)
    waits.add(callback)
    return () => waits.delete(callback)
  }
  const endAll = () => {
    for (const end of [...waits]) end()
  }
  return { time: { now: systemTime.now, after }, waits, endAll }
}

it('a follower waits after a fetch that returned records, and then fetches all that was appended', async () => {
  const topic = await openTopic()
  await topic.append(2)
  const { time, waits, endAll } = timeWithManualFetches()
  const slow = followLog(topic, { time, fetchPace: FETCH_PACE })
  const fast = followLog(topic)
  await vi.waitFor(() => expect(waits.size).toBe(1), WAIT_MS)
  await topic.append(3)
  await vi.waitFor(() => expect(fast.offsetsOf(P)).toHaveLength(5), WAIT_MS)
  expect(slow.offsetsOf(P)).toHaveLength(2)
  endAll()
  await vi.waitFor(() => expect(slow.offsetsOf(P)).toEqual(fast.offsetsOf(P)), WAIT_MS)
})

it('a close does not wait for the next fetch', async () => {
  const topic = await openTopic()
  await topic.append(2)
  const { time, waits } = timeWithManualFetches()
  const { follower } = followLog(topic, { time, fetchPace: FETCH_PACE })
  await vi.waitFor(() => expect(waits.size).toBe(1), WAIT_MS)
  await follower.close()
  expect(waits.size).toBe(0)
})
