import type { Kafka } from 'kafkajs'
import { type Offset, offsetOf, type Partition } from '../plant/position.ts'
import { withAdmin } from './admin.ts'

/** The next offset that a group has stored for a partition, and the text it stored with it. */
export type GroupOffset = { next: Offset; metadata: string }

/** What a group has committed of a topic; a partition of which it has committed nothing is left out. */
export async function readGroupOffsets(
  kafka: Kafka,
  groupId: string,
  topic: string,
): Promise<Map<Partition, GroupOffset>> {
  return withAdmin(kafka, async (admin) => {
    const [found] = await admin.fetchOffsets({ groupId, topics: [topic] })
    const committed = new Map<Partition, GroupOffset>()
    for (const { partition, offset, metadata } of found?.partitions ?? []) {
      // Kafka says -1 of what was never committed.
      if (Number(offset) < 0) continue
      committed.set(partition as Partition, { next: offsetOf(offset), metadata: metadata ?? '' })
    }
    return committed
  })
}
