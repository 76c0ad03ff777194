import { createAppender } from '@plant-store/shared/event-log/append.ts'
import type { NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import { inject, onTestFinished } from 'vitest'
import { newEvent } from './new-events.ts'
import { createTestTopic } from './topic.ts'

/** A new topic and an appender to it, until the test ends. */
export async function openTopic(partitions = 1, brokers = inject('kafkaBrokers')) {
  const topic = await createTestTopic(brokers, partitions)
  const appender = createAppender(topic.kafka, topic.topic)
  await appender.connect()
  onTestFinished(() => appender.close())
  let lastId = 0n
  return {
    ...topic,
    /** Appends `count` claims of new ids in one batch; returns them. */
    async append(count: number): Promise<NewRecord[]> {
      const records = Array.from({ length: count }, () => newEvent(++lastId, partitions))
      await appender.append(records)
      return records
    },
    appendRecords: appender.append,
  }
}
