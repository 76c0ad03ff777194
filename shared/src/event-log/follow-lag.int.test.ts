import { randomUUID } from 'node:crypto'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { followLog, START } from '../../../tests/support/followed-log.ts'
import { newPlant } from '../../../tests/support/generated-plants.ts'
import { createTestTopic } from '../../../tests/support/topic.ts'
import type { EventId } from '../plant/event-id.ts'
import type { Offset, Partition } from '../plant/offset.ts'
import { plantCreated } from '../plant/plant-created.ts'
import { createAppender } from './append.ts'

const WAIT_MS = 20_000

async function openTopic(partitions: number) {
  const topic = await createTestTopic(inject('kafkaBrokers'), partitions)
  const appender = createAppender(topic.kafka, topic.topic)
  await appender.connect()
  onTestFinished(() => appender.close())
  let lastId = 0n
  return {
    topic,
    append: (count: number) =>
      appender.append(
        Array.from({ length: count }, () =>
          plantCreated(newPlant(++lastId), randomUUID() as EventId, partitions),
        ),
      ),
  }
}

it('a follower lags behind by what it has not taken in, of all its partitions, and by nothing in the end', async () => {
  const { topic, append } = await openTopic(3)
  await append(40)
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
  await append(10)
  await vi.waitFor(() => {
    const passed = [...followed.checkpoints.values()].map(({ offset }) => offset + 1)
    expect(passed.reduce((sum, each) => sum + each, 0)).toBe(50)
  }, WAIT_MS)
  expect(followed.follower.lag()).toBe(0)
})

it('a follower that stands still lags behind an end that others have seen', async () => {
  const { topic, append } = await openTopic(2)
  await append(10)
  const followed = followLog(topic, { checkpointOf: async () => START })
  await vi.waitFor(() => expect(followed.follower.lag()).toBe(0), WAIT_MS)
  const passed = (partition: number) => (followed.checkpoints.get(partition as Partition)?.offset ?? -1) + 1
  const ends = [passed(0) + 3, passed(1) + 4] as Offset[]
  followed.follower.noteEnds(ends)
  expect(followed.follower.lag()).toBe(7)
  // One seen earlier is no news.
  followed.follower.noteEnds(ends.map((end) => (end - 1) as Offset))
  expect(followed.follower.lag()).toBe(7)
})
