import { formatCount, formatDuration, formatNumber } from '@plant-store/shared/runtime/format.ts'
import type { CliContext } from '../cli-context.ts'
import { type Command, EXIT } from '../command.ts'
import { FLAG, LIST, numberOf, partitionsOf, readOptions, TEXT } from '../options.ts'
import { rebuildStore } from '../rebuild/open-rebuild.ts'
import type { RebuildRun } from '../rebuild/rebuild-options.ts'
import { createRebuildProgress } from '../rebuild/rebuild-progress.ts'
import { withStore } from '../store/open-store.ts'
import { readLogEnds } from '../store/read-log.ts'
import { withProgress } from '../terminal/progress.ts'
import { formatDifference } from '../verify/difference.ts'
import { sumOf } from '../verify/slice.ts'

const RECORDS_PER_SECOND_MAX = 10_000_000
const help = `Rebuilds the read model from the log while it serves. Each partition gets a new generation, which replaces the live
one when it equals an independent fold of the log. Leftovers of earlier rebuilds are dropped.

  plantctl rebuild
  plantctl rebuild --partition 3 --partition 7
  plantctl rebuild --throttle 20000

  --partition   only this partition; may be repeated
  --throttle    reads at most this many records per second, to save capacity of Kafka and Redis
  --from-empty  also fills partitions that Redis has nothing of, such as after a loss of Redis
  --json        one JSON object with the result of each partition

If it is interrupted or killed, the live generations stay as they are, and the next rebuild continues with what was
filled. Redis needs memory for the new generations beside the old ones, of up to 2,000,000 records at a time.

Exit codes: 0 rebuilt, 1 failed (the message names the cause), 3 a new generation differs from the fold of the log (it
is dropped, the live one is unchanged, and the differences are listed), 130 interrupted.
`

export const rebuild: Command = {
  summary: 'rebuilds the read model from the log while it serves',
  help,
  async run(args, context) {
    const { values } = readOptions(args, { partition: LIST, throttle: TEXT, 'from-empty': FLAG, json: FLAG })
    const report = await rebuildWithProgress(context, values.partition, {
      fromEmpty: values['from-empty'] ?? false,
      recordsPerSecond: numberOf('--throttle', values.throttle, RECORDS_PER_SECOND_MAX, 'records per second'),
    })
    await context.printResult(values.json ? `${JSON.stringify(jsonOf(report))}\n` : textOf(report))
    return differencesOf(report).length === 0 ? EXIT.ok : EXIT.problems
  },
}

type Report = Awaited<ReturnType<typeof rebuildWithProgress>>

async function rebuildWithProgress(
  context: CliContext,
  named: readonly string[] | undefined,
  options: Pick<RebuildRun, 'fromEmpty' | 'recordsPerSecond'>,
) {
  const { signal } = context
  return withStore(context, async (store) => {
    const partitions = partitionsOf(named, store.partitions)
    const offsets = sumOf(partitions, await readLogEnds(store))
    const startedAt = performance.now()
    try {
      const results = await withProgress(context, '', (progress) => {
        progress.onStart(offsets)
        const run = { ...options, partitions, signal, onProgress: createRebuildProgress(progress.work) }
        return rebuildStore({ ...store, generations: store.readModel.generations }, run)
      })
      return { results, offsets, elapsedMs: performance.now() - startedAt }
    } finally {
      if (signal.aborted)
        context.printError(
          'Interrupted. Each partition serves its old generation or a verified new one; run plantctl rebuild to continue.\n',
        )
    }
  })
}

function differencesOf({ results }: Report) {
  return results.flatMap((one) => (one.is === 'different' ? one.differences : []))
}

function textOf(report: Report): string {
  const { results, offsets, elapsedMs } = report
  if (results.length === 0) return 'Nothing to rebuild: the log has no records.\n'
  const switched = results.filter(({ is }) => is === 'switched').length
  const differences = differencesOf(report)
  const lines = [
    `Rebuilt ${formatCount(switched, 'partition')} of ${results.length}: ${formatNumber(offsets)} offsets of the log in ${formatDuration(elapsedMs)}`,
  ]
  if (differences.length > 0) {
    const dropped = formatCount(results.length - switched, 'partition')
    lines.push(
      `Dropped the new generation of ${dropped}: it differs from the fold of the log. The live one is unchanged.`,
      ...differences.map((difference) => `  ${formatDifference(difference)}`),
    )
  }
  return `${lines.join('\n')}\n`
}

function jsonOf({ results, offsets, elapsedMs }: Report): object {
  return { partitions: results, offsets, seconds: Math.round(elapsedMs) / 1_000 }
}
