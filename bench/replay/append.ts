import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { newEvent } from '../plant.ts'
import type { PlantStore } from '../plant-store.ts'

/** One append: about 180 kB for each of 12 partitions, well below the 1 MB that a broker takes. */
const RECORDS_PER_APPEND = 6_000
const PROGRESS_EVERY_MS = 5_000
const SAMPLED_IDS = 100_000

/**
 * Appends new plants as the api does. `nextDue` resolves with the number of events that may be
 * appended so far; without it, as fast as the log accepts them. Returns the ids of at most 100,000 of them.
 */
export async function append(
  { kafka, topic, partitions }: PlantStore,
  events: number,
  nextDue: () => Promise<number> = async () => events,
): Promise<BigInt64Array> {
  const appender = createAppender(kafka, topic)
  const ids: bigint[] = []
  const idEvery = Math.ceil(events / SAMPLED_IDS)
  let printedAt = performance.now()

  try {
    for (let appended = 0; appended < events; ) {
      const count = Math.min(RECORDS_PER_APPEND, (await nextDue()) - appended, events - appended)
      const records = Array.from({ length: count }, () => newEvent(partitions))
      await appender.append(records)
      for (const [n, { key }] of records.entries()) if ((appended + n) % idEvery === 0) ids.push(BigInt(String(key)))
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
