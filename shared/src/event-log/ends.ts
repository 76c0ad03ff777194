import type { Kafka } from 'kafkajs'
import { FIRST, type Offset, offsetOf } from '../plant/offset.ts'
import { PreconditionError } from '../process/failures.ts'
import { withAdmin } from './admin.ts'
import { refusalOf } from './refusal.ts'

/**
 * The next offset to be written in each partition there is. Asks for less than `checkTopic` does: a reader may have
 * no right to see the topic's configuration. Throws a PreconditionError when the topic is missing or has lost its
 * beginning, or when Kafka refuses.
 */
export async function readEnds(kafka: Kafka, topic: string): Promise<Offset[]> {
  try {
    return await withAdmin(kafka, async (admin) => {
      const ends: Offset[] = []
      for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
        if (offsetOf(low) !== FIRST) throw truncated(topic, partition, low)
        ends[partition] = offsetOf(high)
      }
      return ends
    })
  } catch (error) {
    throw refusalOf(error, topic)
  }
}

function truncated(topic: string, partition: number, low: string): PreconditionError {
  return new PreconditionError(
    `partition ${partition} of ${topic} begins at offset ${low}: its first events are gone, and with them who ` +
      'claimed which id first. Restore the topic from a copy',
    'topic-truncated',
  )
}
