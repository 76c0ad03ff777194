import { randomBytes, randomUUID } from 'node:crypto'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { NAME, TAG } from '../plant.ts'
import type { PlantStore } from '../plant-store.ts'

/** One append: about 180 kB for each of 12 partitions, well below the 1 MB that a broker takes. */
const RECORDS_PER_APPEND = 6_000
const PROGRESS_EVERY_MS = 5_000
const SAMPLED_IDS = 100_000

/**
 * Appends new plants as the api does, with any int64 for an id. `nextDue` resolves with the number of events that may be
 * appended so far; without it, as fast as the log accepts them. Returns the ids of at most 100,000 of them.
 */
export async function append(
  { kafka, topic, partitions }: Pick<PlantStore, 'kafka' | 'topic' | 'partitions'>,
  events: number,
  nextDue: () => Promise<number> = async () => events,
): Promise<BigInt64Array> {
  const appender = createAppender(kafka, topic)
  const ids: bigint[] = []
  const idEvery = Math.ceil(events / SAMPLED_IDS)
  let printedAt = performance.now()

  function newEvent(number: number): NewRecord {
    const id = randomBytes(8).readBigInt64BE() as PlantId
    if (number % idEvery === 0) ids.push(id)
    return plantCreated({ id, name: NAME, tag: TAG }, randomUUID() as EventId, partitions)
  }

  try {
    for (let appended = 0; appended < events; ) {
      const count = Math.min(RECORDS_PER_APPEND, (await nextDue()) - appended, events - appended)
      await appender.append(Array.from({ length: count }, (_, n) => newEvent(appended + n)))
      appended += count
      if (performance.now() - printedAt < PROGRESS_EVERY_MS) continue
      printedAt = performance.now()
      console.log(`  appended ${appended.toLocaleString('en')} of ${events.toLocaleString('en')} events`)
    }
  } finally {
    await appender.close()
  }
  return BigInt64Array.from(ids)
}
