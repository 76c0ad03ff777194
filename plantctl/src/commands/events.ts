import { offsetsAt } from '@plant-store/shared/event-log/topic.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { type CliContext, type Command, EXIT, UsageError } from '../command.ts'
import { idOf, limitOf, partitionsOf, readOptions } from '../options.ts'
import { type LogPoint, logPointOf } from '../store/log-point.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { keyOf, partitionOfId, readLogEnds } from '../store/read-log.ts'
import { openEventPrinter } from './events/event-printer.ts'
import { type LogEvent, readEvents } from './events/read-events.ts'
import { type Rulings, rulingsByReadModel, rulingsOfOneId } from './events/rulings.ts'
import { type OffsetRange, rangesOf, type Selection, selectedPartitions } from './events/selection.ts'

const help = `Prints the records of the log, each with its ruling.

  plantctl events --id 7                       every record of one id
  plantctl events --from 15m                   the last 15 minutes
  plantctl events --from 3-120 --to 3-140      partition 3, offsets 120 to 140; the format of Plants-Position
  plantctl events --partition 3 --limit 20
  plantctl events --follow --json | jq .id     everything from now on

  --id         only records with this id as key (--id=-7 for a negative one)
  --partition  only this partition; may be repeated
  --from       starts at this position, or at the first record of this time: an instant in UTC such as
               2027-01-31T00:00:00Z, or how long ago: 30s, 15m, 2h, 7d
  --to         ends after this position, or before the first record of this time
  --limit      prints at most this many records
  --follow     continues with new records until Ctrl-C; starts with new records unless --from or --id is given
  --json       one JSON object per line
  --raw        as --json, with the complete key, headers and value in base64

Each line has time, position (partition-offset), ruling, id, plant and event id. The rulings:
  created   the first claim of its id: it created the plant
  void      the id already existed; the line has the position of its creation
  repeated  the event that created the plant, written again by a retry; it changes nothing
  foreign   it claims no id and is parked; the line has the reason
  unknown   the read model does not match the log
A claim that this release cannot read is created or void like any other, and also parked.
Up to 10,000 records are sorted by time; more than that are printed partition by partition in log order.

Exit codes: 0 printed, 1 Kafka or Redis does not respond, 130 interrupted.
`

/** plantctl events */
export const events: Command = {
  summary: 'prints the records of the log, each with its ruling',
  help,
  async run(args, context) {
    const { values } = readOptions(args, {
      id: { type: 'string' },
      partition: { type: 'string', multiple: true },
      from: { type: 'string' },
      to: { type: 'string' },
      limit: { type: 'string' },
      follow: { type: 'boolean' },
      json: { type: 'boolean' },
      raw: { type: 'boolean' },
    })
    const { follow = false, json = false, raw = false } = values
    const id = idOf(values.id)
    const limit = limitOf(values.limit, Number.MAX_SAFE_INTEGER) ?? Number.POSITIVE_INFINITY
    if (follow && values.to !== undefined) throw new UsageError('--follow cannot be combined with --to')
    const store = await openStore(context)
    try {
      const point = (option: string, text: string | undefined) =>
        text === undefined ? undefined : logPointOf(option, text, store.partitions, Date.now())
      const query = {
        id,
        follow,
        from: point('--from', values.from),
        to: point('--to', values.to),
        named: partitionsOf(values.partition, store.partitions),
      }
      await print(store, context, query, { json: json || raw, raw, limit })
      return EXIT.ok
    } finally {
      await store.close()
    }
  },
}

type Query = Omit<Selection, 'partitions'> & { named: readonly Partition[] | undefined }
type Format = { json: boolean; raw: boolean; limit: number }

async function print(store: Store, context: CliContext, query: Query, format: Format): Promise<void> {
  const { id, follow } = query
  const selected = await select(store, query)
  const rulings = await rulingsOf(store, [...selected.keys()], id)
  const enough = new AbortController()
  const printer = openEventPrinter(context, selected, { ...format, onEnough: () => enough.abort() })
  const key = id === undefined ? undefined : keyOf(id)

  function isSelected({ partition, offset, stored }: LogEvent): boolean {
    const { from, end = Number.POSITIVE_INFINITY } = selected.get(partition) as OffsetRange
    return offset >= from && offset < end && (key === undefined || stored.key?.equals(key) === true)
  }

  await readEvents(store, {
    ranges: new Map(
      [...selected].map(([partition, { from, end }]) => [
        partition,
        { from: (rulings.get(partition) as Rulings).startFor(from), end },
      ]),
    ),
    signal: AbortSignal.any([context.signal, enough.signal]),
    async onEvents(partition, read) {
      const { add, rule } = rulings.get(partition) as Rulings
      for (const { claim } of read) if (claim !== undefined) add(claim)
      const shown = read.filter(isSelected)
      const ruled = await rule(shown.flatMap(({ claim }) => claim ?? []))
      await printer.print(
        shown.map((event) => ({ event, ruling: event.claim === undefined ? undefined : ruled.shift() })),
      )
    },
  })
  await printer.end()
  if (printer.count() === 0 && !follow) context.printError('No records found.\n')
}

/** The range of each selected partition. */
async function select(store: Store, query: Query): Promise<Map<Partition, OffsetRange>> {
  const { kafka, topic, partitions } = store
  const { id, named, from, to } = query
  const idsPartition = id === undefined ? undefined : partitionOfId(id, partitions)
  const selected = selectedPartitions(named, idsPartition, [from, to], allPartitions(partitions))
  const offsetsOf = async (point: LogPoint | undefined) =>
    point?.is === 'moment' ? await offsetsAt(kafka, topic, point.ms) : []
  const [fromMoment, toMoment] = [await offsetsOf(from), await offsetsOf(to)]
  const ends = await readLogEnds(store)
  return rangesOf({ ...query, partitions: selected }, { ends, fromMoment, toMoment })
}

async function rulingsOf({ readModel }: Store, partitions: readonly Partition[], id: PlantId | undefined) {
  const rulings = partitions.map(async (partition) => {
    if (id !== undefined) return [partition, rulingsOfOneId(id)] as const
    const { checkpoint } = await readModel.meta(partition)
    return [partition, rulingsByReadModel(readModel, partition, checkpoint.offset)] as const
  })
  return new Map<Partition, Rulings>(await Promise.all(rulings))
}
