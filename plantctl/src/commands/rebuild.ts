import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { formatCount, formatDuration, formatNumber } from '@plant-store/shared/runtime/format.ts'
import { type CliContext, type Command, EXIT, UsageError } from '../command.ts'
import { partitionsOf, readOptions } from '../options.ts'
import type { PartitionResult } from '../rebuild/finish.ts'
import { openRebuild } from '../rebuild/open-rebuild.ts'
import { createRebuildProgress } from '../rebuild/rebuild-progress.ts'
import { openStore } from '../store/open-store.ts'
import { readLogEnds } from '../store/read-log.ts'
import { startProgressLine } from '../terminal/progress.ts'
import { safeText } from '../terminal/safe-text.ts'
import { formatDifference } from '../verify/difference.ts'

const LINE_CHARACTERS = 1_000
const RECORDS_PER_SECOND_MAX = 10_000_000
const help = `Rebuilds the read model from the log while it serves. Each partition gets a new generation: it is filled from the
first record of the log, compared with an independent fold of the log, and then replaces the live generation in one
step. Clients notice nothing. The old generation and leftovers of earlier rebuilds are dropped.

  plantctl rebuild
  plantctl rebuild --partition 3 --partition 7
  plantctl rebuild --throttle 20000

  --partition   only this partition; may be repeated
  --throttle    reads at most this many records per second, to save capacity of Kafka and Redis
  --from-empty  also fills partitions that Redis has nothing of, such as after a loss of Redis. Without it the rebuild
                refuses them: REDIS_URL may name the wrong Redis, and a running projector fills them anyway
  --json        one JSON object with the result of each partition

Progress goes to stderr. If the rebuild is interrupted or killed, the live generations stay as they are, and the next
rebuild continues with what was filled. Redis needs memory for the new generations beside the old ones: partitions are
rebuilt in groups of up to 2,000,000 records in the log, at least one partition at a time.

Exit codes: 0 rebuilt, 1 failed (the message names the cause), 3 a new generation differs from the fold of the log (it
is dropped, the live one is unchanged, and the differences are listed), 130 interrupted.
`

type Report = { results: PartitionResult[]; offsets: number; elapsedMs: number }

/** plantctl rebuild */
export const rebuild: Command = {
  summary: 'rebuilds the read model from the log while it serves',
  help,
  async run(args, context) {
    const { values } = readOptions(args, {
      partition: { type: 'string', multiple: true },
      throttle: { type: 'string' },
      'from-empty': { type: 'boolean' },
      json: { type: 'boolean' },
    })
    const report = await rebuildWithProgress(context, {
      partition: values.partition,
      fromEmpty: values['from-empty'] ?? false,
      recordsPerSecond: throttleOf(values.throttle),
    })
    await context.printResult(values.json ? `${JSON.stringify(jsonOf(report))}\n` : textOf(report))
    return differencesOf(report).length === 0 ? EXIT.ok : EXIT.problems
  },
}

type Options = { partition: string[] | undefined; fromEmpty: boolean; recordsPerSecond: number | undefined }

async function rebuildWithProgress(context: CliContext, options: Options): Promise<Report> {
  const { fromEmpty, recordsPerSecond } = options
  const { signal } = context
  let { printError } = context
  const store = await openStore({ ...context, printError: (text) => printError(text) })
  try {
    const partitions = partitionsOf(options.partition, store.partitions) ?? allPartitions(store.partitions)
    const ends = await readLogEnds(store)
    const progress = createRebuildProgress(partitions, ends)
    const startedAt = performance.now()
    const elapsedMs = () => performance.now() - startedAt
    const line = startProgressLine(context, (columns) => progress.line(elapsedMs(), columns))
    printError = line.printError
    try {
      const { run } = openRebuild({ ...store, generations: store.readModel.generations })
      const results = await run({
        partitions,
        fromEmpty,
        recordsPerSecond,
        signal,
        onProgress: progress.update,
      })
      return { results, offsets: progress.total, elapsedMs: elapsedMs() }
    } finally {
      await line.end()
      if (signal.aborted)
        context.printError(
          'Interrupted. Each partition serves its old generation or a verified new one; run plantctl rebuild to continue.\n',
        )
    }
  } finally {
    await store.close()
  }
}

function throttleOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const records = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN
  if (records <= RECORDS_PER_SECOND_MAX) return records
  throw new UsageError(
    `--throttle ${text}: expected records per second, from 1 to ${formatNumber(RECORDS_PER_SECOND_MAX)}`,
  )
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
      ...differences.map((difference) => `  ${safeText(formatDifference(difference), LINE_CHARACTERS)}`),
    )
  }
  return `${lines.join('\n')}\n`
}

function jsonOf({ results, offsets, elapsedMs }: Report): object {
  return { partitions: results, offsets, seconds: Math.round(elapsedMs) / 1_000 }
}
