import { appendsOf, createAppender } from '@plant-store/shared/event-log/append.ts'
import { readNewestRows } from '@plant-store/shared/event-log/newest-rows.ts'
import { plantStored, type Row } from '@plant-store/shared/plant/plant-stored.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { rowsOf, writtenUpTo } from '@plant-store/shared/protocol/plants-table.ts'
import { EntryError } from '@plant-store/shared/read-model/entry.ts'
import type { PartitionLookUp } from '@plant-store/shared/read-model/look-up.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import type { Store } from '../../store/open-store.ts'

/**
 * Writes rows of claims that nobody could read when the table passed them. A claim after the latest row is left to the
 * projectors: a row must not be in the table before all rows before it are.
 */
export async function openLateRows(
  { kafka, readModel, partitions, log }: Omit<Store, 'close'>,
  table: string,
  wanted: readonly Partition[],
  signal: AbortSignal,
) {
  const newest = await readNewestRows({ kafka, table, partitions, log, signal, time: systemTime }, wanted)
  const appender = createAppender(kafka, table)

  return {
    async write(partition: Partition, claims: readonly Row[]): Promise<void> {
      const written = writtenUpTo(newest.get(partition) ?? [])
      const passed = claims.filter(({ offset }) => offset < written.offset)
      const [lookUp] = await readModel.lookUp([{ partition, ids: passed.map(({ id }) => id) }])
      const { checkpoint, entries } = lookUp as PartitionLookUp
      const known = entries.map((entry) => (entry instanceof EntryError ? undefined : entry))
      const rows = rowsOf(passed, { checkpoint, entries: known })
      if (rows === undefined)
        throw new Error(`the read model does not have all claims of partition ${partition}: run plantctl verify`)
      for (const records of appendsOf(rows.map((row) => plantStored(row, partition)))) await appender.append(records)
    },

    close: appender.close,
  }
}
