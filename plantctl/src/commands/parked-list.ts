import { reasonName, reasonText } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, formatPosition, type LogPosition, type Partition } from '@plant-store/shared/plant/position.ts'
import { formatCount, formatNumber } from '@plant-store/shared/runtime/format.ts'
import { type Command, EXIT } from '../command.ts'
import { FLAG, LIST, numberOf, partitionsOf, readOptions, TEXT } from '../options.ts'
import { type Store, withStore } from '../store/open-store.ts'
import { tableLines } from '../terminal/layout.ts'
import { parkedJson } from './events/format-event.ts'
import { parkedAfter } from './parked/parked-records.ts'

const LIMIT = 1_000
const LIMIT_MAX = 1_000_000
const help = `Lists the parked records of the read model: records that claim no id, and claims that the release that applied them
could not read. Parking loses nothing: the log still has every record.

  plantctl parked list
  plantctl parked list --partition 3 --limit 20
  plantctl parked list --json | jq .reasons

  --partition  only this partition; may be repeated
  --limit      lists at most this many, lowest partition and offset first; default ${LIMIT}
  --json       one JSON object: the number of parked records, the number of listed ones by reason, and the list
`

type ListedRecord = LogPosition & { reason: number }
type Listing = { parked: number; listed: ListedRecord[]; reasons: Map<number, number> }

export const parkedList: Command = {
  summary: 'lists the records that could not be read, with the reason',
  help,
  async run(args, context) {
    const { values } = readOptions(args, { partition: LIST, limit: TEXT, json: FLAG })
    const limit = numberOf('--limit', values.limit, LIMIT_MAX, 'a whole number') ?? LIMIT
    const listing = await withStore(context, (store) =>
      list(store, partitionsOf(values.partition, store.partitions), limit),
    )
    await context.print(values.json ? `${JSON.stringify(jsonOf(listing))}\n` : textOf(listing, context.columns))
    return EXIT.ok
  },
}

async function list({ readModel }: Store, partitions: readonly Partition[], limit: number): Promise<Listing> {
  const { generations } = readModel
  const listing: Listing = { parked: 0, listed: [], reasons: new Map() }
  for (const partition of partitions) {
    const { parked } = await readModel.meta(partition)
    listing.parked += parked
    const room = limit - listing.listed.length
    if (parked === 0 || room === 0) continue
    for (const { offset, reason } of await parkedAfter(generations, partition, BEFORE_FIRST, room)) {
      listing.listed.push({ partition, offset, reason })
      listing.reasons.set(reason, (listing.reasons.get(reason) ?? 0) + 1)
    }
  }
  return listing
}

function textOf({ parked, listed, reasons }: Listing, columns: number): string {
  if (parked === 0) return 'No parked records.\n'
  const table = tableLines(
    [
      { title: 'position', align: 'right', cell: formatPosition },
      { title: 'reason', cell: ({ reason }: ListedRecord) => reasonText(reason) },
    ],
    listed,
    columns,
  )
  const sums = [...reasons]
    .sort(([a], [b]) => a - b)
    .map(([reason, count]) => `  ${formatNumber(count).padStart(7)}  ${reasonText(reason)}`)
  const more = parked > listed.length ? `, the first ${formatNumber(listed.length)} listed (--limit)` : ''
  return `${table.join('\n')}\n\n${formatCount(parked, 'record')} parked${more}:\n${sums.join('\n')}\n`
}

function jsonOf({ parked, listed, reasons }: Listing): object {
  return {
    parked,
    reasons: Object.fromEntries([...reasons].map(([reason, count]) => [reasonName(reason), count])),
    listed: listed.map((one) => ({ position: formatPosition(one), ...one, ...parkedJson(one.reason) })),
  }
}
