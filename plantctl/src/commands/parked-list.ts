import { reasonName, reasonText } from '@plant-store/shared/plant/plant-created.ts'
import {
  allPartitions,
  BEFORE_FIRST,
  formatPosition,
  type LogPosition,
  type Partition,
} from '@plant-store/shared/plant/position.ts'
import { type Command, EXIT } from '../command.ts'
import { limitOf, readOptions } from '../options.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { counted, grouped } from '../terminal/quantity.ts'
import { safeJson } from '../terminal/safe-text.ts'
import { tableLines } from '../terminal/table.ts'
import { parkedAfter } from './parked/parked-records.ts'
import { partitionsAmong } from './partition-option.ts'

const LISTED = 1_000
const LISTED_MAX = 1_000_000
const help = `Lists the records that are parked in the read model: those that are no claim of an id, and those that claim one but
can't be read by the release that applied them. They are still in the log, and always will be.

  plantctl parked list
  plantctl parked list --partition 3 --limit 20
  plantctl parked list --json | jq .reasons

  --partition  only this partition; may be given several times
  --limit      at most so many, the first of each partition first; ${LISTED} without it
  --json       one JSON object: how many are parked in all, how many of those listed for which reason, and these

Exit codes: 0 listed, 1 Kafka or Redis does not answer.
`

type Listed = LogPosition & { reason: number }
type Listing = { parked: number; listed: Listed[]; reasons: Map<number, number> }

/** plantctl parked list */
export const parkedList: Command = {
  summary: 'lists the records that could not be read, and why',
  help,
  async run(args, context) {
    const { values } = readOptions(args, {
      partition: { type: 'string', multiple: true },
      limit: { type: 'string' },
      json: { type: 'boolean' },
    })
    const limit = limitOf(values.limit, LISTED_MAX) ?? LISTED
    const store = await openStore(context)
    try {
      const partitions =
        partitionsAmong(values.partition, store.partitions) ?? allPartitions(store.partitions)
      const listing = await list(store, partitions, limit)
      await context.out(values.json ? `${safeJson(jsonOf(listing))}\n` : inWords(listing, context.columns))
      return EXIT.done
    } finally {
      await store.close()
    }
  },
}

async function list({ readModel }: Store, partitions: readonly Partition[], limit: number): Promise<Listing> {
  const listing: Listing = { parked: 0, listed: [], reasons: new Map() }
  for (const partition of partitions) {
    const { parked } = await readModel.meta(partition)
    listing.parked += parked
    const room = limit - listing.listed.length
    if (parked === 0 || room === 0) continue
    for (const { offset, reason } of await parkedAfter(
      readModel.generations,
      partition,
      BEFORE_FIRST,
      room,
    )) {
      listing.listed.push({ partition, offset, reason })
      listing.reasons.set(reason, (listing.reasons.get(reason) ?? 0) + 1)
    }
  }
  return listing
}

function inWords({ parked, listed, reasons }: Listing, columns: number): string {
  if (parked === 0) return 'Nothing is parked.\n'
  const table = tableLines(
    [
      { title: 'position', align: 'right', cell: formatPosition },
      { title: 'why', cell: ({ reason }: Listed) => reasonText(reason) },
    ],
    listed,
    columns,
  )
  const sums = [...reasons]
    .sort(([a], [b]) => a - b)
    .map(([reason, count]) => `  ${grouped(count).padStart(7)}  ${reasonText(reason)}`)
  const more = parked > listed.length ? `, the first ${grouped(listed.length)} listed (--limit)` : ''
  return `${table.join('\n')}\n\n${counted(parked, 'record')} parked${more}:\n${sums.join('\n')}\n`
}

function jsonOf({ parked, listed, reasons }: Listing): object {
  return {
    parked,
    reasons: Object.fromEntries([...reasons].map(([reason, count]) => [reasonName(reason), count])),
    listed: listed.map((one) => ({
      position: formatPosition(one),
      ...one,
      ...{ name: reasonName(one.reason), why: reasonText(one.reason) },
    })),
  }
}
