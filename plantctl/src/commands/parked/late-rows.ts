import { appendsOf, createAppender } from '@plant-store/shared/event-log/append.ts'
import { readLatestRows } from '@plant-store/shared/event-log/latest-rows.ts'
import { checkTopic, TABLE } from '@plant-store/shared/event-log/topic.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { plantStored } from '@plant-store/shared/plant/plant-stored.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { assertRowsOfLog, lookUpRows } from '@plant-store/shared/table/table.ts'
import type { Store } from '../../store/open-store.ts'
import { logReader } from '../../store/read-log.ts'

/**
 * Writes rows of claims that nobody could read when the table passed them. A claim after the latest row is left to the
 * projectors: a row must not be in the table before all rows before it are. Throws a PreconditionError for a table that
 * is not as required, or was written from another log.
 */
export async function openLateRows(
  store: Omit<Store, 'close'>,
  table: string,
  wanted: readonly Partition[],
  signal: AbortSignal,
) {
  const { kafka, readModel, partitions, log } = store
  const { topicId } = await checkTopic(kafka, { topic: table, partitions }, TABLE)
  const latestRows = await readLatestRows({ kafka, table, partitions, log, signal, time: systemTime }, wanted)
  await assertRowsOfLog(
    latestRows,
    logReader(store, signal, () => {}),
  )
  const appender = createAppender(kafka, table, topicId)

  return {
    async write(partition: Partition, claims: readonly Claim[]): Promise<void> {
      const latest = latestRows.get(partition)
      if (latest === undefined) return
      const passed = claims.filter(({ offset }) => offset < latest.offset)
      if (passed.length === 0) return
      const [found] = await lookUpRows(readModel, [{ partition, claims: passed }])
      if (found?.rows === undefined) throw new Error(`partition ${partition}: ${found?.why}`)
      // Each append ends with the latest row again, so that a writer of the table finds it among the last records.
      for (const records of appendsOf(found.rows.map((row) => plantStored(row, partition))))
        await appender.append([...records, plantStored(latest, partition)])
    },

    close: appender.close,
  }
}
