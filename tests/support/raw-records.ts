import { randomUUID } from 'node:crypto'
import { checkTopic, type TopicKind } from '@plant-store/shared/event-log/topic.ts'
import type { KafkaMessage } from 'kafkajs'
import { expect, onTestFinished } from 'vitest'
import { eventually } from './eventually.ts'
import type { TestTopic } from './topic.ts'

/** All records that a topic holds now, with their headers, in no particular order. */
export async function readRawRecords(
  { kafka, topic, partitions }: TestTopic,
  kind?: TopicKind,
): Promise<KafkaMessage[]> {
  const { ends } = await checkTopic(kafka, { topic, partitions }, kind)
  const found = new Map<string, KafkaMessage>()
  await readOn({ kafka, topic }, (partition, message) => void found.set(`${partition}-${message.offset}`, message))
  const count = ends.reduce((sum, end) => sum + Number(end), 0)
  await eventually(() => expect(found.size).toBeGreaterThanOrEqual(count))
  return [...found.values()]
}

/** Reads a topic from its first record until the test ends. */
export async function readOn(
  { kafka, topic }: Pick<TestTopic, 'kafka' | 'topic'>,
  onRecord: (partition: number, message: KafkaMessage) => void,
): Promise<void> {
  const consumer = kafka.consumer({ groupId: `test-${randomUUID()}` })
  onTestFinished(() => consumer.disconnect())
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ autoCommit: false, eachMessage: async ({ partition, message }) => onRecord(partition, message) })
}
