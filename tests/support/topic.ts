import { randomUUID } from 'node:crypto'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { createTopic, type TopicSettings } from '@plant-store/shared/event-log/topic.ts'
import type { Kafka } from 'kafkajs'
import { quietLog } from './quiet-log.ts'

export type TestTopic = TopicSettings & { kafka: Kafka }

/** A new topic of this test alone, made as the product makes it. */
export async function createTestTopic(kafkaBrokers: string, partitions: number): Promise<TestTopic> {
  const topic = `plants-${randomUUID()}`
  const kafka = createKafka(kafkaBrokers.split(','), 'test', quietLog)
  await createTopic(kafka, { topic, partitions })
  return { kafka, topic, partitions }
}
