import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { allPartitions, formatPosition, type Partition } from '@plant-store/shared/plant/position.ts'
import { checkpointBefore } from '@plant-store/shared/protocol/checkpoint.ts'
import { formatCount, formatNumber } from '@plant-store/shared/runtime/format.ts'
import { tableOf } from '@plant-store/shared/stores/store-settings.ts'
import { type CliContext, type Command, EXIT, UsageError } from '../command.ts'
import { partitionsOf, readOptions } from '../options.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { logReader } from '../store/read-log.ts'
import { startProgressLine } from '../terminal/progress.ts'
import { openLateRows } from './parked/late-rows.ts'
import { type Reapplication, reapplyParked } from './parked/reapply.ts'

const help = `Reads the parked records from the log again and applies those that this release can read: after an upgrade that
adds a version of the event, or fixes how one is read. The result is what a rebuild would make, without reading the
whole log. Services may keep running. A second run changes nothing. With PLANTS_TABLE the plants get their rows in the
table, too; without it, the command refuses to run beside a table.

  plantctl parked reapply --dry-run
  plantctl parked reapply

  --dry-run    only reports what would change
  --partition  only this partition; may be repeated
  --json       one JSON object

Upgrade all projectors first: an older one keeps parking what it cannot read. The owner of an id does not change: it was
decided when the record was written, and a void claim stays void.

Exit codes: 0 done, 1 failed (a newer release has folded the read model, or Kafka or Redis does not respond), 3 some
records need a rebuild; they are listed.
`

/** plantctl parked reapply */
export const parkedReapply: Command = {
  summary: 'applies parked records that this release can read',
  help,
  async run(args, context) {
    const { values } = readOptions(args, {
      'dry-run': { type: 'boolean' },
      partition: { type: 'string', multiple: true },
      json: { type: 'boolean' },
    })
    const dryRun = values['dry-run'] ?? false
    const store = await openStore(context)
    try {
      const partitions = partitionsOf(values.partition, store.partitions) ?? allPartitions(store.partitions)
      const result = await reapply(store, context, partitions, dryRun)
      await context.printResult(values.json ? `${JSON.stringify({ dryRun, ...result })}\n` : textOf(result, dryRun))
      return result.needRebuild.length === 0 ? EXIT.ok : EXIT.problems
    } finally {
      await store.close()
    }
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
  const read = logReader(store, context.signal, () => {})
  const { table } = store
  if (table === undefined && context.env.PLANTS_TABLE !== 'off' && !dryRun) await assertNoTable(store)
  const rows = table === undefined || dryRun ? undefined : await openLateRows(store, table, withParked, context.signal)
  let looked = 0
  const line = startProgressLine(context, () => `${formatNumber(looked)} of ${formatCount(total, 'parked record')}`)
  try {
    return await reapplyParked(
      {
        generations: readModel.generations,
        writeRows: rows?.write,
        dryRun,
        onLooked(records) {
          looked += records
        },
        // The spans start at no checkpoint of the read model, so there is no event id to verify.
        read: (spans, onRecords) =>
          read(
            new Map([...spans].map(([partition, { from, end }]) => [partition, { from: checkpointBefore(from), end }])),
            onRecords,
          ),
      },
      withParked,
    )
  } finally {
    await line.end()
    await rows?.close()
  }
}

/** Plants that are applied without the table would never get their rows. */
async function assertNoTable({ kafka, topic }: Store): Promise<void> {
  const table = tableOf({ PLANTS_TOPIC: topic, PLANTS_TABLE: 'on' }) as string
  const isFound = await withAdmin(kafka, async (admin) => (await admin.listTopics()).includes(table))
  if (isFound)
    throw new UsageError(
      `topic ${table} exists: set PLANTS_TABLE=on, so that the plants get their rows there, or PLANTS_TABLE=off`,
    )
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
