import { randomUUID } from 'node:crypto'
import { appendsOf, createAppender } from '@plant-store/shared/event-log/append.ts'
import { createKafka, withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { checkTopic, createTopic, TABLE, type TopicKind } from '@plant-store/shared/event-log/topic.ts'
import {
  readConfiguration,
  setConfiguration,
  type TopicSettings,
} from '@plant-store/shared/event-log/topic-configuration.ts'
import type { NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { LogPosition } from '@plant-store/shared/plant/position.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import type { Kafka } from 'kafkajs'
import { expect } from 'vitest'
import { eventually } from './eventually.ts'
import { quietLog } from './quiet-log.ts'

/** With these settings Kafka compacts a topic soon. */
export const COMPACTED_AT_ONCE = {
  'cleanup.policy': 'compact',
  'min.cleanable.dirty.ratio': '0.001',
  'segment.ms': '100',
  'max.compaction.lag.ms': '100',
}
/** The creation is confirmed before the broker knows the topic and leads its partitions. */
const PATIENCE = { everyMs: 20, giveUpAfterMs: 20_000 }

export type TestTopic = TopicSettings & { kafka: Kafka }
type Named = Pick<TestTopic, 'kafka' | 'topic'>

/** A new topic for one test, created as the product creates it. */
export async function createTestTopic(kafkaBrokers: string, partitions: number): Promise<TestTopic> {
  const kafka = createKafka(kafkaBrokers.split(','), 'test', quietLog)
  return create({ kafka, topic: `plants-${randomUUID()}`, partitions })
}

export const tableTopicOf = ({ topic }: Pick<TestTopic, 'topic'>) => `${topic}.table`

/** Creates the topic of a store's table, as the product creates it. */
export const createTableTopic = (store: TestTopic) => create({ ...store, topic: tableTopicOf(store) }, TABLE)

async function create({ kafka, ...settings }: TestTopic, kind?: TopicKind): Promise<TestTopic> {
  await retry(() => createTopic(kafka, settings, kind), PATIENCE)
  await retry(() => checkTopic(kafka, settings, kind), PATIENCE)
  return { kafka, ...settings }
}

/** Appends records to a topic, in as few batches as a broker accepts. */
export async function appendTo({ kafka, topic }: Named, records: readonly NewRecord[]): Promise<void> {
  const appender = createAppender(kafka, topic)
  try {
    for (const some of appendsOf(records)) await appender.append(some)
  } finally {
    await appender.close()
  }
}

/** Sets the settings of a topic; those not named return to the broker's defaults. Resolves when the broker has them. */
export async function setTopicConfig({ kafka, topic }: TestTopic, config: Record<string, string>): Promise<void> {
  await setConfiguration(kafka, topic, new Map(Object.entries(config)))
  // The controller confirms the change, and the broker applies it some time later.
  const now = async () => Object.fromEntries((await readConfiguration(kafka, topic)) ?? [])
  await eventually(async () => expect(await now()).toEqual(config))
}

/** Deletes the records of a partition before this position. */
export async function deleteRecords({ kafka, topic }: Named, { partition, offset }: LogPosition): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    // kafkajs needs the metadata to find the leader.
    await admin.fetchTopicMetadata({ topics: [topic] })
    await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] })
  })
}

/** Adds partitions to a topic. Resolves when the broker has them. */
export async function setPartitions({ kafka, topic }: TestTopic, count: number): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    await admin.createPartitions({ topicPartitions: [{ topic, count }] })
    await eventually(async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
      expect(topics[0]?.partitions).toHaveLength(count)
    })
  })
}
