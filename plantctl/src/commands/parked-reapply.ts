import type { Range } from '@plant-store/shared/event-log/replay.ts'
import { allPartitions, formatPosition, type Offset } from '@plant-store/shared/plant/position.ts'
import { type CliContext, type Command, EXIT } from '../command.ts'
import { readOptions } from '../options.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { logReader } from '../store/read-log.ts'
import { startProgressLine } from '../terminal/progress-line.ts'
import { counted, grouped } from '../terminal/quantity.ts'
import { type Reapplication, reapplyParked } from './parked/reapply.ts'
import { partitionsAmong } from './partition-option.ts'

const help = `Reads parked records from the log again, and puts into place what this release can read: after an upgrade that
knows a newer version of the event, or mends how one is read. The read model is then what a rebuild would make of it,
without reading the whole log; made twice it changes nothing. Services may run meanwhile.

  plantctl parked reapply --dry-run
  plantctl parked reapply

  --dry-run    only tells what would be put into place
  --partition  only this partition; may be given several times
  --json       one JSON object

Upgrade all projectors first: an older one goes on to park what it can't read. Who has an id was decided when the record
was written, and does not change: a claim that was void stays void.

Exit codes: 0 done, 1 it could not be done (a newer release has folded the read model, or Kafka or Redis does not
answer), 3 there are records that only a rebuild can put into place: they are told.
`

/** plantctl parked reapply */
export const parkedReapply: Command = {
  summary: 'puts into place what this release can read',
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
      const partitions = partitionsAmong(values.partition, store.partitions)
      const result = await reapply(store, context, partitions ?? allPartitions(store.partitions), dryRun)
      await context.out(values.json ? `${JSON.stringify({ dryRun, ...result })}\n` : inWords(result, dryRun))
      return result.needRebuild.length === 0 ? EXIT.done : EXIT.notAsItShouldBe
    } finally {
      await store.close()
    }
  },
}

async function reapply(
  store: Store,
  context: CliContext,
  partitions: ReturnType<typeof allPartitions>,
  dryRun: boolean,
): Promise<Reapplication> {
  const { readModel } = store
  const { generations } = readModel
  // Also refuses what a newer release has folded.
  const metas = await Promise.all(partitions.map(readModel.meta))
  const some = partitions.filter((_, n) => (metas[n]?.parked ?? 0) > 0)
  const of = metas.reduce((sum, { parked }) => sum + (parked || 0), 0)
  const read = logReader(store, context.signal, () => {})
  let looked = 0
  const line = startProgressLine(context, () => `${grouped(looked)} of ${counted(of, 'parked record')}`)
  try {
    return await reapplyParked(
      {
        ...{ generations, dryRun },
        onLooked(records) {
          looked += records
        },
        // Not from a place that the read model has been at: there is no event that it must hold.
        read: (spans, onRecords) =>
          read(new Map([...spans].map(([p, span]) => [p, fromAnywhere(span)])), onRecords),
      },
      some,
    )
  } finally {
    await line.end()
  }
}

const fromAnywhere = ({ from, end }: { from: Offset; end: Offset }): Range => ({
  from: { offset: (from - 1) as Offset, eventId: '' },
  end,
})

function inWords({ looked, placed, renamed, kept, needRebuild }: Reapplication, dryRun: boolean): string {
  if (looked === 0) return 'Nothing is parked.\n'
  const lines = [
    `${counted(looked, 'parked record')}:`,
    `  ${grouped(placed)} ${dryRun ? 'would be put' : 'put'} into place`,
    `  ${grouped(renamed)} ${dryRun ? 'would stay parked' : 'parked'} for another reason now`,
    `  ${grouped(kept)} can not be read by this release either`,
  ]
  if (needRebuild.length > 0) {
    lines.push(`Only plantctl rebuild can put into place: ${needRebuild.map(formatPosition).join(', ')}`)
  }
  return `${lines.join('\n')}\n`
}
