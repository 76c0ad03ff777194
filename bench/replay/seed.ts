import { randomBytes, randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import type { Kafka } from '@plant-store/shared/event-log/connection.ts'
import type { TopicSettings } from '@plant-store/shared/event-log/topic.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { NAME, TAG } from '../plant.ts'

/** One append: about 180 kB for each of 12 partitions, well below the 1 MB that a broker takes. */
const RECORDS_PER_APPEND = 6_000

/** With any int64 for its id. */
function newEvent(partitions: number): NewRecord {
  const id = randomBytes(8).readBigInt64BE() as PlantId
  return plantCreated({ id, name: NAME, tag: TAG }, randomUUID() as EventId, partitions)
}

/** Appends `events` events to the topic as the api does; `onProgress` gets the total after each append. */
export async function seed(
  kafka: Kafka,
  { topic, partitions }: TopicSettings,
  events: number,
  onProgress: (appended: number) => void,
): Promise<void> {
  const appender = createAppender(kafka, topic)
  try {
    for (let appended = 0; appended < events; onProgress(appended)) {
      const count = Math.min(RECORDS_PER_APPEND, events - appended)
      await appender.append(Array.from({ length: count }, () => newEvent(partitions)))
      appended += count
    }
  } finally {
    await appender.close()
  }
}
