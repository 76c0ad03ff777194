import { expect, it, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import type { Offset, Partition } from '../plant/position.ts'
import { BEFORE_LOG } from '../protocol/checkpoint.ts'

const WAIT_MS = 20_000

it('the lag of a follower counts the records of all its partitions that are not applied yet', async () => {
  const topic = await openTopic(3)
  await topic.append(40)
  const gate = Promise.withResolvers<void>()
  const followed = followLog(topic, {
    async onRecords(partition, _records, next) {
      await gate.promise
      followed.checkpoints.set(partition, next)
      return next
    },
  })
  expect(followed.follower.lag()).toBeUndefined()
  await vi.waitFor(() => expect(followed.follower.lag()).toBe(40), WAIT_MS)
  gate.resolve()
  await vi.waitFor(() => expect(followed.follower.lag()).toBe(0), WAIT_MS)
  await topic.append(10)
  await vi.waitFor(() => {
    const passed = [...followed.checkpoints.values()].map(({ offset }) => offset + 1)
    expect(passed.reduce((sum, each) => sum + each, 0)).toBe(50)
  }, WAIT_MS)
  expect(followed.follower.lag()).toBe(0)
})

it('the lag of an idle follower counts up to an end that others have read', async () => {
  const topic = await openTopic(2)
  await topic.append(10)
  const followed = followLog(topic, { checkpointOf: async () => BEFORE_LOG })
  await vi.waitFor(() => expect(followed.follower.lag()).toBe(0), WAIT_MS)
  const passed = (partition: number) => (followed.checkpoints.get(partition as Partition)?.offset ?? -1) + 1
  const ends = [passed(0) + 3, passed(1) + 4] as Offset[]
  followed.follower.updateEnds(ends)
  expect(followed.follower.lag()).toBe(7)
  // An older end changes nothing.
  followed.follower.updateEnds(ends.map((end) => (end - 1) as Offset))
  expect(followed.follower.lag()).toBe(7)
})
