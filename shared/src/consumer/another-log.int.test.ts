import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { consumeInto, newGroup } from '../../../tests/support/consumed-plants.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { recreateTopic } from '../../../tests/support/recreated-topic.ts'
import { setPartitions } from '../../../tests/support/topic.ts'
import { withAdmin } from '../event-log/connection.ts'
import { commitGroupOffsets } from '../event-log/groups.ts'
import type { Offset, Partition } from '../plant/position.ts'

/** A topic of this many records, and a group that has committed the offset 5 in another log of this topic. */
async function openOtherLog(records: number) {
  const topic = await openTopic(1)
  await topic.append(records)
  const groupId = newGroup()
  const metadata = JSON.stringify({ partitions: 1, eventId: randomUUID() })
  const position = { partition: 0 as Partition, next: 5 as Offset, metadata }
  await commitGroupOffsets(topic.kafka, groupId, topic.topic, [position])
  return { topic: topic.topic, groupId }
}

it('a consumer ends when another event is at its position, before a handler is called', async () => {
  const { topic, groupId } = await openOtherLog(10)
  const consumer = await consumeInto(topic, { groupId })
  await expect(consumer.ended).rejects.toMatchObject({
    ...{ name: 'PlantConsumerError', code: 'another-log' },
    message: expect.stringMatching(/offset 4 should hold event .*start with another group/),
  })
  expect(consumer.events).toEqual([])
})

it('a consumer does not start when the log ends before its position, or the topic is missing', async () => {
  const { topic, groupId } = await openOtherLog(3)
  await expect(consumeInto(topic, { groupId })).rejects.toMatchObject({
    code: 'another-log',
    message: expect.stringContaining('passed offset 4, but the log ends before offset 3'),
  })
  await expect(consumeInto('no-such-topic')).rejects.toMatchObject({
    code: 'topic-missing',
    message: expect.stringContaining('topic no-such-topic does not exist'),
  })
})

it('a consumer ends when the topic is recreated while it runs, and commits nothing in the new one', async () => {
  const topic = await openTopic(1)
  const groupId = newGroup()
  await topic.append(5)
  const recreated = Promise.withResolvers<void>()
  const handled: unknown[] = []
  const consumer = await consumeInto(topic.topic, {
    ...{ groupId, commitEveryMs: 10 },
    // While the handler waits, no fetch can detect the new topic. Afterwards there is an offset to commit.
    async onPlantCreated(event) {
      if (handled.push(event) === 5) await recreated.promise
    },
  })
  const code = expect.stringMatching(/another-log|topic-missing/)
  const ended = expect(consumer.ended).rejects.toMatchObject({ code })
  const topics = [topic.topic]
  const committed = async () =>
    (await withAdmin(topic.kafka, (admin) => admin.fetchOffsets({ groupId, topics })))[0]?.partitions
  // Otherwise a commit could be on its way while the topic is deleted.
  await eventually(async () => expect(await committed()).toMatchObject([{ offset: '4' }]))

  await recreateTopic(topic, 2)
  recreated.resolve()
  await ended
  expect(handled).toHaveLength(5)
  // Kafka deleted the offset with the old topic. Without its correction, kafkajs would have committed -2.
  expect(await committed()).toMatchObject([{ offset: '-1' }])
})

it('a consumer ends when partitions are added, and does not start again', async () => {
  const topic = await openTopic(1)
  const groupId = newGroup()
  await topic.append(5)
  const consumer = await consumeInto(topic.topic, { groupId })
  const ended = expect(consumer.ended).rejects.toMatchObject({ code: 'partitions-changed' })
  await eventually(() => expect(consumer.events).toHaveLength(5))
  await setPartitions(topic, 2)
  await ended
  await expect(consumeInto(topic.topic, { groupId })).rejects.toMatchObject({
    code: 'partitions-changed',
    message: expect.stringContaining('had 1 partitions when the group committed, and has 2'),
  })
})
