import { checkTopic, offsetsAt } from '@plant-store/shared/event-log/topic.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { type CliContext, type Command, EXIT, UsageError } from '../command.ts'
import { limitOf, readOptions } from '../options.ts'
import { type LogPoint, logPointOf } from '../store/log-point.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { openEventPrinter } from './events/event-printer.ts'
import type { LogEvent } from './events/log-event.ts'
import { readEvents } from './events/read-events.ts'
import { type Rulings, rulingsByReadModel, rulingsOfOneId } from './events/rulings.ts'
import { type Selection, type Shown, selectedPartitions, shownOf } from './events/selection.ts'
import { idOption } from './id-option.ts'
import { partitionsAmong } from './partition-option.ts'
import { partitionOfId } from './plant-as-of.ts'

const help = `Prints the records of the log, and tells of each what it came to.

  plantctl events --id 7                       all that was ever written for one id
  plantctl events --from 15m                   the last quarter of an hour
  plantctl events --from 3-120 --to 3-140      partition 3, offsets 120 to 140; a Plants-Position is such a position
  plantctl events --partition 3 --limit 20
  plantctl events --follow --json | jq .id     all that comes from now on

  --id         only records with this id as their key (--id=-7 for a negative one)
  --partition  only this partition; may be given several times
  --from       from this position on, or from the first record of that time on: an instant in UTC such as
               2027-01-31T00:00:00Z, or so long ago: 30s, 15m, 2h, 7d
  --to         up to and with this position, or up to before the first record of that time
  --limit      at most so many records
  --follow     goes on with what comes, until Ctrl-C; without --from or --id it begins with that
  --json       one JSON object a line
  --raw        as --json, with key, headers and value whole, in base64

Each line has time, position (partition-offset), what the record came to, id, plant and event id:
  created   it was the first that claimed its id: this is the plant
  void      it claimed an id that was given before; it is told where
  repeated  the event that created the plant, written again; it changes nothing
  foreign   it claims no id; it is parked, and it is told why
  unknown   the read model does not fit the log, so nobody can tell
What can't be read, but claims its id, is created or void as any other, and parked, too.
Up to 10,000 records come in the order of their time; of more, each partition comes in the order of the log.

Exit codes: 0 printed, 1 Kafka or Redis does not answer, 130 broken off.
`

/** plantctl events */
export const events: Command = {
  summary: 'prints the records of the log, and what each came to',
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
    const id = idOption(values.id)
    const limit = limitOf(values.limit, Number.MAX_SAFE_INTEGER) ?? Number.POSITIVE_INFINITY
    if (follow && values.to !== undefined) throw new UsageError('--follow goes on and on: it has no --to')
    const store = await openStore(context)
    try {
      const point = (option: string, text: string | undefined) =>
        text === undefined ? undefined : logPointOf(option, text, store.partitions, Date.now())
      const selection = {
        ...{ id, follow, from: point('--from', values.from), to: point('--to', values.to) },
        named: partitionsAmong(values.partition, store.partitions),
      }
      await print(store, context, selection, { json: json || raw, raw, limit })
      return EXIT.done
    } finally {
      await store.close()
    }
  },
}

type Asked = Omit<Selection, 'partitions'> & { named: readonly Partition[] | undefined }
type Printing = { json: boolean; raw: boolean; limit: number }

async function print(store: Store, context: CliContext, asked: Asked, printing: Printing): Promise<void> {
  const { id, follow } = asked
  const shown = await locate(store, asked)
  const rulings = await rulingsOf(store, [...shown.keys()], id)
  const enough = new AbortController()
  const printer = openEventPrinter(context, shown, { ...printing, onEnough: () => enough.abort() })
  const key = id === undefined ? undefined : Buffer.from(String(id))

  function isShown({ partition, offset, stored }: LogEvent): boolean {
    const { from, end = Number.POSITIVE_INFINITY } = shown.get(partition) as Shown
    return offset >= from && offset < end && (key === undefined || stored.key?.equals(key) === true)
  }

  await readEvents(store, {
    ranges: new Map(
      [...shown].map(([partition, { from, end }]) => [
        partition,
        { from: (rulings.get(partition) as Rulings).startFor(from), end },
      ]),
    ),
    signal: AbortSignal.any([context.signal, enough.signal]),
    async onEvents(partition, read) {
      const { note, rule } = rulings.get(partition) as Rulings
      for (const { claim } of read) if (claim !== undefined) note(claim)
      const wanted = read.filter(isShown)
      const ruled = await rule(wanted.flatMap(({ claim }) => claim ?? []))
      await printer.print(
        wanted.map((event) => ({ event, ruled: event.claim === undefined ? undefined : ruled.shift() })),
      )
    },
  })
  await printer.end()
  if (printer.count() === 0 && !follow) context.tell('There are no such records.\n')
}

/** What of each partition is shown. */
async function locate({ kafka, topic, partitions }: Store, asked: Asked): Promise<Map<Partition, Shown>> {
  const { id, named, from, to } = asked
  const idsPartition = id === undefined ? undefined : partitionOfId(id, partitions)
  const selected = selectedPartitions(named, idsPartition, [from, to], allPartitions(partitions))
  const at = async (point: LogPoint | undefined) =>
    point?.is === 'moment' ? await offsetsAt(kafka, topic, point.ms) : []
  const [fromMoment, toMoment] = [await at(from), await at(to)]
  const { ends } = await checkTopic(kafka, { topic, partitions })
  return shownOf({ ...asked, partitions: selected }, { ends, fromMoment, toMoment })
}

async function rulingsOf({ readModel }: Store, partitions: readonly Partition[], id: PlantId | undefined) {
  const rulings = partitions.map(async (partition) => {
    if (id !== undefined) return [partition, rulingsOfOneId(id)] as const
    const { checkpoint } = await readModel.meta(partition)
    return [partition, rulingsByReadModel(readModel, partition, checkpoint.offset)] as const
  })
  return new Map<Partition, Rulings>(await Promise.all(rulings))
}
