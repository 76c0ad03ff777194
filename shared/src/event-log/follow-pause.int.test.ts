import { expect, it, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import type { Partition } from '../plant/offset.ts'
import { systemTime, type Time } from '../process/time.ts'

const WAIT_MS = 20_000
const P = 0 as Partition
const PAUSE = { aboveRecords: 5, ms: 60_000 }
/** No other wait is as long, though what was taken in meanwhile shortens this one. */
const NO_OTHER_IS_ABOVE_MS = 40_000

/** The system's time, but that a pause lasts until it is ended here. */
function timeWithPauses() {
  const pauses = new Set<() => void>()
  const after: Time['after'] = (ms, callback) => {
    if (ms <= NO_OTHER_IS_ABOVE_MS) return systemTime.after(ms, callback)
    pauses.add(callback)
    return () => pauses.delete(callback)
  }
  const endAll = () => {
    for (const end of [...pauses]) end()
  }
  return { time: { now: systemTime.now, after }, pauses, endAll }
}

it('a follower fetches nothing more for a while after many records, and then all of it', async () => {
  const topic = await openTopic()
  await topic.append(6)
  const { time, pauses, endAll } = timeWithPauses()
  const paused = followLog(topic, { time, pause: PAUSE })
  const unpaused = followLog(topic)
  await vi.waitFor(() => expect(pauses.size).toBe(1), WAIT_MS)
  await topic.append(3)
  await vi.waitFor(() => expect(unpaused.offsetsOf(P)).toHaveLength(9), WAIT_MS)
  expect(paused.offsetsOf(P)).toHaveLength(6)
  endAll()
  await vi.waitFor(() => expect(paused.offsetsOf(P)).toEqual(unpaused.offsetsOf(P)), WAIT_MS)
})

it('a follower does not wait after few records', async () => {
  const topic = await openTopic()
  const { time, pauses } = timeWithPauses()
  const followed = followLog(topic, { time, pause: PAUSE })
  for (let length = 1; length <= PAUSE.aboveRecords; length++) {
    await topic.append(1)
    await vi.waitFor(() => expect(followed.offsetsOf(P)).toHaveLength(length), WAIT_MS)
  }
  expect(pauses.size).toBe(0)
})

it('a follower that is closed does not wait for the end of a pause', async () => {
  const topic = await openTopic()
  await topic.append(6)
  const { time, pauses } = timeWithPauses()
  const { follower } = followLog(topic, { time, pause: PAUSE })
  await vi.waitFor(() => expect(pauses.size).toBe(1), WAIT_MS)
  await follower.close()
  expect(pauses.size).toBe(0)
})
