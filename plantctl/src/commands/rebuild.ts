import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { type CliContext, type Command, EXIT, UsageError } from '../command.ts'
import { readOptions } from '../options.ts'
import type { Finished } from '../rebuild/finish.ts'
import { openRebuild } from '../rebuild/open-rebuild.ts'
import { createRebuildProgress } from '../rebuild/rebuild-progress.ts'
import { openStore } from '../store/open-store.ts'
import { lasting } from '../terminal/progress-bar.ts'
import { startProgressLine } from '../terminal/progress-line.ts'
import { counted, grouped } from '../terminal/quantity.ts'
import { safeText } from '../terminal/safe-text.ts'
import { differenceInWords } from '../verify/difference.ts'
import { partitionsAmong } from './partition-option.ts'

const LINE_CHARACTERS = 1_000
const MAX_RECORDS_PER_SECOND = 10_000_000
const help = `Rebuilds the read model from the log while it serves. Each partition gets a new generation, which is filled from
the log's first event, compared with an independent fold of the log, and only then takes the place of the old one, in
one step. Clients notice nothing; the old one is dropped, and what earlier rebuilds have left over.

  plantctl rebuild
  plantctl rebuild --partition 3 --partition 7
  plantctl rebuild --throttle 20000

  --partition   only this partition; may be given several times
  --throttle    at most so many records a second, to leave Kafka and Redis to others
  --from-empty  also partitions of which Redis holds nothing. Without it a rebuild of these is refused, for what a
                projector fills needs none; with it a lost Redis can be filled without a projector
  --json        what became of each partition as one JSON object

Progress goes to stderr. Broken off by Ctrl-C, or killed, what serves is untouched, and the next rebuild goes on where
this one was. Redis needs room for the new generations of as many partitions as have together 1,000,000 records
in the log, at least of one, beside the old ones.

Exit codes: 0 rebuilt, 1 it could not go on (the message says why), 3 a new generation was not the fold of the log: it
was dropped, what serves is untouched, and the differences are told, 130 broken off.
`

type Report = { finished: Finished[]; offsets: number; elapsedMs: number }

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
    const recordsPerSecond = throttleOf(values.throttle)
    const report = await rebuildShown(context, {
      ...{ partition: values.partition, fromEmpty: values['from-empty'] ?? false, recordsPerSecond },
    })
    await context.out(values.json ? `${JSON.stringify(jsonOf(report))}\n` : inWords(report))
    return differencesOf(report).length === 0 ? EXIT.done : EXIT.notAsItShouldBe
  },
}

type Choice = { partition: string[] | undefined; fromEmpty: boolean; recordsPerSecond: number | undefined }

async function rebuildShown(context: CliContext, choice: Choice): Promise<Report> {
  const { signal, tell } = context
  let told = tell
  const store = await openStore({ ...context, tell: (text) => told(text) })
  try {
    const partitions = partitionsAmong(choice.partition, store.partitions) ?? allPartitions(store.partitions)
    const { ends } = await checkTopic(store.kafka, store)
    const standing = createRebuildProgress(partitions, ends)
    const begunAt = performance.now()
    const elapsedMs = () => performance.now() - begunAt
    const line = startProgressLine(context, (columns) => standing.line(elapsedMs(), columns))
    told = line.tell
    try {
      const { generations } = store.readModel
      const run = { ...choice, partitions, signal, onProgress: standing.note }
      const finished = await openRebuild({ ...store, generations }).run(run)
      return { finished, offsets: standing.of, elapsedMs: elapsedMs() }
    } finally {
      await line.end()
      if (signal.aborted)
        tell('Broken off. What serves is untouched; plantctl rebuild goes on where this one was.\n')
    }
  } finally {
    await store.close()
  }
}

function throttleOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const records = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN
  if (records <= MAX_RECORDS_PER_SECOND) return records
  throw new UsageError(
    `--throttle ${text}: expected records a second, from 1 to ${grouped(MAX_RECORDS_PER_SECOND)}`,
  )
}

function differencesOf({ finished }: Report) {
  return finished.flatMap((one) => (one.is === 'different' ? one.differences : []))
}

function inWords(report: Report): string {
  const { finished, offsets, elapsedMs } = report
  if (finished.length === 0) return 'There is nothing to rebuild: nothing was ever written there.\n'
  const switched = finished.filter(({ is }) => is === 'switched').length
  const differences = differencesOf(report)
  const lines = [
    `Rebuilt ${counted(switched, 'partition')} of ${finished.length}: ${grouped(offsets)} offsets of the log in ${lasting(elapsedMs)}`,
  ]
  if (differences.length > 0) {
    lines.push(
      `Not the fold of the log, and so dropped: ${counted(finished.length - switched, 'partition')}. What serves there is untouched.`,
      ...differences.map((difference) => `  ${safeText(differenceInWords(difference), LINE_CHARACTERS)}`),
    )
  }
  return `${lines.join('\n')}\n`
}

function jsonOf({ finished, offsets, elapsedMs }: Report): object {
  return { partitions: finished, offsets, seconds: Math.round(elapsedMs) / 1_000 }
}
