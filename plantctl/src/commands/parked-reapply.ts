import { appendsOf, createAppender } from '@plant-store/shared/event-log/append.ts'
import { readLatestRows } from '@plant-store/shared/event-log/latest-rows.ts'
import { checkTopic, TABLE } from '@plant-store/shared/event-log/topic.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { plantStored, type Row, rowHeaders } from '@plant-store/shared/plant/plant-stored.ts'
import { formatPosition, type Partition } from '@plant-store/shared/plant/position.ts'
import { formatCount, formatNumber } from '@plant-store/shared/runtime/format.ts'
import { lookUpRows, rowsOfLog } from '@plant-store/shared/table/table.ts'
import type { CliContext } from '../cli-context.ts'
import { type Command, EXIT } from '../command.ts'
import { FLAG, LIST, partitionsOf, readOptions } from '../options.ts'
import { assertTableIsNamed, type Store, withStore } from '../store/open-store.ts'
import { logReader } from '../store/read-log.ts'
import { withProgress } from '../terminal/progress.ts'
import { type Reapplication, reapplyParked } from './parked/parked-records.ts'

const help = `Reads the parked records from the log again and applies those that this release can read: after an upgrade of all
projectors that adds a version of the event, or fixes how one is read. Services may keep running. With PLANTS_TABLE the
plants get their rows in the table, too.

  plantctl parked reapply --dry-run
  plantctl parked reapply

  --dry-run    only reports what would change
  --partition  only this partition; may be repeated
  --json       one JSON object

Exit codes: 0 done, 1 failed (a newer release has folded the read model, or Kafka or Redis does not respond), 3 some
records need a rebuild; they are listed.
`

export const parkedReapply: Command = {
  summary: 'applies parked records that this release can read',
  help,
  async run(args, context) {
    const { values } = readOptions(args, { 'dry-run': FLAG, partition: LIST, json: FLAG })
    const dryRun = values['dry-run'] ?? false
    const result = await withStore(context, (store) =>
      reapply(store, context, partitionsOf(values.partition, store.partitions), dryRun),
    )
    await context.printResult(values.json ? `${JSON.stringify({ dryRun, ...result })}\n` : textOf(result, dryRun))
    return result.needRebuild.length === 0 ? EXIT.ok : EXIT.problems
  },
}

async function reapply(
  store: Store,
  context: CliContext,
  partitions: readonly Partition[],
  dryRun: boolean,
): Promise<Reapplication> {
  const { readModel } = store
  // Throws for a read model that a newer release has folded.
  const metas = await Promise.all(partitions.map(readModel.meta))
  const withParked = partitions.filter((_, n) => (metas[n]?.parked ?? 0) > 0)
  const total = metas.reduce((sum, { parked }) => sum + (parked || 0), 0)
  const read = logReader(store, context.signal)
  const { table } = store
  // Plants that are applied without the table would never get their rows.
  if (!dryRun) await assertTableIsNamed(store, context.env)
  const rows = table === undefined || dryRun ? undefined : await openLateRows(store, table, withParked, context.signal)
  try {
    return await withProgress(context, 'parked', ({ onStart, onRead }) => {
      onStart(total)
      const { generations } = readModel
      return reapplyParked({ generations, writeRows: rows?.write, dryRun, onLooked: onRead, read }, withParked)
    })
  } finally {
    await rows?.close()
  }
}

function textOf({ looked, placed, renamed, kept, needRebuild }: Reapplication, dryRun: boolean): string {
  if (looked === 0) return 'No parked records.\n'
  const lines = [
    `${formatCount(looked, 'parked record')}:`,
    `  ${formatNumber(placed)} ${dryRun ? 'would be applied' : 'applied'}`,
    `  ${formatNumber(renamed)} ${dryRun ? 'would stay parked' : 'parked'} with another reason`,
    `  ${formatNumber(kept)} not readable by this release`,
  ]
  if (needRebuild.length > 0) {
    lines.push(`Run plantctl rebuild to apply: ${needRebuild.map(formatPosition).join(', ')}`)
  }
  return `${lines.join('\n')}\n`
}

/**
 * Writes rows of claims that were unreadable when the table passed them. A claim after the latest row is left to the
 * projectors: a row must not be in the table before all rows before it are. Throws a PreconditionError for a table that
 * is not as required, or was written from another log.
 */
export async function openLateRows(
  store: Omit<Store, 'close' | 'table'>,
  table: string,
  wanted: readonly Partition[],
  signal: AbortSignal,
) {
  const { kafka, readModel, partitions } = store
  const sharedHeaders = rowHeaders(store.source)
  const { topicId } = await checkTopic(kafka, { topic: table, partitions }, TABLE)
  const found = await readLatestRows({ ...store, table, signal }, wanted)
  const latestRows = await rowsOfLog(found, logReader(store, signal))
  const appender = createAppender(kafka, table, topicId)

  return {
    async write(partition: Partition, claims: readonly Claim[]): Promise<void> {
      const latest = latestRows.get(partition)
      if (latest === undefined) return
      const passed = claims.filter(({ offset }) => offset < latest.offset)
      if (passed.length === 0) return
      const [found] = await Promise.all(lookUpRows(readModel, [{ partition, claims: passed }]))
      if (found?.rows === undefined) throw new Error(`partition ${partition}: ${found?.why}`)
      // Each append ends with the latest row again, so that a writer of the table finds it among the last records.
      const recordOf = (row: Row) => plantStored(row, partition, sharedHeaders)
      for (const records of appendsOf(found.rows.map(recordOf))) await appender.append([...records, recordOf(latest)])
    },

    close: appender.close,
  }
}
