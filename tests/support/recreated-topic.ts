import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { retry } from '@plant-store/shared/runtime/retry.ts'
import { newEvent } from './new-events.ts'
import type { TestTopic } from './topic.ts'

const AT_ONCE = { everyMs: 1, giveUpAfterMs: 20_000 }
/** Ids that no other record of a test uses. */
const IDS_FROM = 5_000
const RETENTION = ['retention.ms', 'retention.bytes'].map((name) => ({ name, value: '-1' }))

/**
 * Deletes a topic, creates another one with its name, and appends `records` claims of new ids, each step as soon as
 * possible.
 */
export async function recreateTopic({ kafka, topic, partitions }: TestTopic, records: number): Promise<void> {
  const appender = createAppender(kafka, topic)
  const claims = Array.from({ length: records }, (_, n) => newEvent(BigInt(IDS_FROM + n), partitions))
  try {
    await withAdmin(kafka, async (admin) => {
      const recreated = { topic, numPartitions: partitions, replicationFactor: 1, configEntries: RETENTION }
      await admin.deleteTopics({ topics: [topic] })
      await retry(() => admin.createTopics({ waitForLeaders: false, topics: [recreated] }), AT_ONCE)
    })
    await retry(() => appender.append(claims), AT_ONCE)
  } finally {
    await appender.close()
  }
}
