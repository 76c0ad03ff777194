import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import type { TopicId } from '@plant-store/shared/event-log/log-identity.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import type { Admin } from 'kafkajs'
import { newEvent } from './new-events.ts'
import type { TestTopic } from './topic.ts'

const AT_ONCE = { everyMs: 1, giveUpAfterMs: 20_000 }
/** Ids that no other record of a test uses. */
const IDS_FROM = 5_000
const RETENTION = ['retention.ms', 'retention.bytes'].map((name) => ({ name, value: '-1' }))

/**
 * Deletes a topic, creates another one with its name, and appends `records` claims of new ids, each step as soon as
 * possible. They name the topic by its id: the broker may have the former one for a moment still.
 */
export async function recreateTopic({ kafka, topic, partitions }: TestTopic, records: number): Promise<void> {
  const topicId = await withAdmin(kafka, async (admin) => {
    const former = await topicIdOf(admin, topic)
    const recreated = { topic, numPartitions: partitions, replicationFactor: 1, configEntries: RETENTION }
    await admin.deleteTopics({ topics: [topic] })
    await retry(() => admin.createTopics({ waitForLeaders: false, topics: [recreated] }), AT_ONCE)
    return retry(async () => {
      const found = await topicIdOf(admin, topic)
      if (found === undefined || found === former) throw new Error('the broker has the former topic')
      return found
    }, AT_ONCE)
  })
  const appender = createAppender(kafka, topic, topicId)
  const claims = Array.from({ length: records }, (_, n) => newEvent(BigInt(IDS_FROM + n), partitions))
  try {
    await retry(() => appender.append(claims), AT_ONCE)
  } finally {
    await appender.close()
  }
}

async function topicIdOf(admin: Admin, topic: string): Promise<TopicId | undefined> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  return (topics[0]?.partitions[0] as { topicId?: TopicId } | undefined)?.topicId
}
