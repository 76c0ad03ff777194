import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { consumeInto, newGroup } from '../../../tests/support/consumed-plants.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { recreateTopic } from '../../../tests/support/recreated-topic.ts'
import type { TestTopic } from '../../../tests/support/topic.ts'
import { withAdmin } from '../event-log/connection.ts'
import type { GroupOffset } from '../event-log/groups.ts'
import type { Offset } from '../plant/position.ts'
import type { PlantCreated } from './consumer.ts'

/** Creates a group with an offset that was committed in another log of this topic. */
async function createCommittedGroup({ kafka, topic }: TestTopic, { next, metadata }: GroupOffset): Promise<string> {
  const groupId = newGroup()
  const consumer = kafka.consumer({ groupId })
  onTestFinished(() => consumer.disconnect())
  // Only a member of the group can commit, and the consumer joins when it runs.
  const joined = new Promise((resolve) => consumer.on('consumer.fetch_start', resolve))
  await consumer.connect()
  await consumer.subscribe({ topic })
  await consumer.run({ autoCommit: false, eachBatch: async () => {} })
  await joined
  await consumer.commitOffsets([{ topic, partition: 0, offset: String(next), metadata }])
  await consumer.disconnect()
  return groupId
}

describe('a consumer of another log than before', () => {
  const metadata = JSON.stringify({ partitions: 1, eventId: randomUUID() })

  it('ends when another event is at its position, before a handler is called', async () => {
    const topic = await openTopic(1)
    await topic.append(10)
    const groupId = await createCommittedGroup(topic, { next: 5 as Offset, metadata })
    const consumer = await consumeInto(topic.topic, { groupId })
    await expect(consumer.ended).rejects.toMatchObject({
      name: 'PlantConsumerError',
      code: 'another-log',
      message: expect.stringMatching(/offset 4 should hold event .*start with another group/),
    })
    expect(consumer.events).toEqual([])
  })

  it('does not start when the log ends before its position', async () => {
    const topic = await openTopic(1)
    await topic.append(3)
    const groupId = await createCommittedGroup(topic, { next: 5 as Offset, metadata })
    await expect(consumeInto(topic.topic, { groupId })).rejects.toMatchObject({
      code: 'another-log',
      message: expect.stringContaining('passed offset 4, but the log ends before offset 3'),
    })
  })

  it('ends when the topic is recreated while it runs, and commits nothing in the new one', async () => {
    const topic = await openTopic(1)
    const { kafka, topic: name } = topic
    const groupId = newGroup()
    await topic.append(5)
    const recreated = Promise.withResolvers<void>()
    const handled: PlantCreated[] = []
    const consumer = await consumeInto(name, {
      groupId,
      commitEveryMs: 10,
      // While the handler waits, no fetch can detect the new topic. Afterwards there is an offset to commit.
      async onPlantCreated(event) {
        handled.push(event)
        if (handled.length === 5) await recreated.promise
      },
    })
    const code = expect.stringMatching(/another-log|topic-missing/)
    const ended = expect(consumer.ended).rejects.toMatchObject({ code })
    await eventually(() => expect(handled).toHaveLength(5))
    const committed = () => withAdmin(kafka, (admin) => admin.fetchOffsets({ groupId, topics: [name] }))
    // Otherwise a commit could be on its way while the topic is deleted.
    await eventually(async () => expect((await committed())[0]?.partitions).toMatchObject([{ offset: '4' }]))

    await recreateTopic(topic, 2)
    recreated.resolve()
    await ended
    expect(handled).toHaveLength(5)
    // Kafka deleted the offset with the old topic. Without its correction, kafkajs would have committed -2.
    expect((await committed())[0]?.partitions).toMatchObject([{ offset: '-1' }])
  })
})

describe('a consumer of an unusable topic', () => {
  it('does not start when the topic is missing', async () => {
    await expect(consumeInto('no-such-topic')).rejects.toMatchObject({
      code: 'topic-missing',
      message: expect.stringContaining('topic no-such-topic does not exist'),
    })
  })

  it('ends when partitions are added, and does not start again', async () => {
    const topic = await openTopic(1)
    const groupId = newGroup()
    await topic.append(5)
    const consumer = await consumeInto(topic.topic, { groupId })
    const ended = expect(consumer.ended).rejects.toMatchObject({ code: 'partitions-changed' })
    await eventually(() => expect(consumer.events).toHaveLength(5))
    const topicPartitions = [{ topic: topic.topic, count: 2 }]
    await withAdmin(topic.kafka, (admin) => admin.createPartitions({ topicPartitions }))
    await ended
    await expect(consumeInto(topic.topic, { groupId })).rejects.toMatchObject({
      code: 'partitions-changed',
      message: expect.stringContaining('had 1 partitions when the group committed, and has 2'),
    })
  })

  it('does not start when no broker replies in time, and warns once', async () => {
    const warn = vi.fn()
    // Longer than the first attempt.
    const away = { brokers: ['127.0.0.1:1'], connectWithinMs: 3_000, log: { ...quietLog, warn } }
    await expect(consumeInto('plants', away)).rejects.toMatchObject({
      code: 'kafka-unreachable',
      message: expect.stringMatching(/^Kafka does not reply \(.+\): check that brokers has its addresses/),
    })
    expect(warn.mock.calls).toEqual([[expect.anything(), expect.stringContaining('127.0.0.1:1')]])
  })
})
