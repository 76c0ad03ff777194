import { randomUUID } from 'node:crypto'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { checkTopic, createTopic, type TopicSettings } from '@plant-store/shared/event-log/topic.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import type { Kafka } from 'kafkajs'
import { quietLog } from './quiet-log.ts'

const LED_WITHIN_MS = 20_000
const AGAIN_AFTER_MS = 20

export type TestTopic = TopicSettings & { kafka: Kafka }

/** A new topic of this test alone, made as the product makes it. */
export async function createTestTopic(kafkaBrokers: string, partitions: number): Promise<TestTopic> {
  const topic = `plants-${randomUUID()}`
  const kafka = createKafka(kafkaBrokers.split(','), 'test', quietLog)
  // The broker may know the topic, and lead its partitions, only a little after it said they were created; a busy disk
  // shows it.
  const patience = { everyMs: AGAIN_AFTER_MS, giveUpAfterMs: LED_WITHIN_MS }
  await retry(() => createTopic(kafka, { topic, partitions }), patience)
  await retry(() => checkTopic(kafka, { topic, partitions }), patience)
  return { kafka, topic, partitions }
}
