import { randomUUID } from 'node:crypto'
import { createKafka } from '@plant-store/shared/event-log/connection.ts'
import { checkTopic, createTopic, type TopicSettings } from '@plant-store/shared/event-log/topic.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import type { Kafka } from 'kafkajs'
import { quietLog } from './quiet-log.ts'

const LEADER_WITHIN_MS = 20_000
const RETRY_EVERY_MS = 20

export type TestTopic = TopicSettings & { kafka: Kafka }

/** A new topic for one test, created as the product creates it. */
export async function createTestTopic(kafkaBrokers: string, partitions: number): Promise<TestTopic> {
  const topic = `plants-${randomUUID()}`
  const kafka = createKafka(kafkaBrokers.split(','), 'test', quietLog)
  // The broker may know the topic, and lead its partitions, only some time after it has confirmed the creation.
  const patience = { everyMs: RETRY_EVERY_MS, giveUpAfterMs: LEADER_WITHIN_MS }
  await retry(() => createTopic(kafka, { topic, partitions }), patience)
  await retry(() => checkTopic(kafka, { topic, partitions }), patience)
  return { kafka, topic, partitions }
}
