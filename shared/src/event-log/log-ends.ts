import type { Admin, Kafka, PartitionMetadata } from 'kafkajs'
import type { TopicId } from '../kafka-client/topic-id.ts'
import { FIRST, type Offset, offsetOf } from '../plant/position.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { withAdmin } from './admin.ts'
import { preconditionErrorOf } from './broker-errors.ts'

/** Which topic it is, as far as the broker tells ids, and the next offset to be written in each partition there is. */
export type LogEnds = { topicId: TopicId | undefined; ends: Offset[] }

const LOST = 'who claimed which id first. Restore the topic from a copy'

/**
 * Asks for less than `checkTopic` does: a reader may have no right to see the topic's configuration. Throws a PreconditionError when the topic is missing or has lost its
 * beginning, or when Kafka refuses.
 */
export async function readEnds(kafka: Kafka, topic: string): Promise<LogEnds> {
  try {
    return await withAdmin(kafka, async (admin) => {
      const { topicId } = await readTopic(admin, topic)
      return { topicId, ends: await endsOfWholeLog(admin, topic, LOST) }
    })
  } catch (error) {
    throw preconditionErrorOf(error, topic)
  }
}

/** What the metadata tells of a topic: its id with each partition, where kafkajs passes it on. */
export async function readTopic(
  admin: Admin,
  topic: string,
): Promise<{ topicId: TopicId | undefined; partitions: PartitionMetadata[] }> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  const partitions: (PartitionMetadata & { topicId?: TopicId })[] = topics[0]?.partitions ?? []
  return { topicId: partitions[0]?.topicId, partitions }
}

/**
 * The next offset to be written in each partition. Throws a PreconditionError that tells what is lost, and what to do,
 * when the topic does not begin at its first offset any more.
 */
export async function endsOfWholeLog(admin: Admin, topic: string, lost: string): Promise<Offset[]> {
  const ends: Offset[] = []
  for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
    if (offsetOf(low) !== FIRST) {
      throw new PreconditionError(
        `partition ${partition} of ${topic} begins at offset ${low}: its first events are gone, and with them ${lost}`,
        'topic-truncated',
      )
    }
    ends[partition] = offsetOf(high)
  }
  return ends
}
