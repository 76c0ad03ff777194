import { after, allPartitions, formatPosition, partitionOf } from '@plant-store/shared/plant/position.ts'
import type { CliContext } from '../cli-context.ts'
import { type Command, EXIT, UsageError } from '../command.ts'
import { FLAG, idOf, LIST, numberOf, partitionsOf, readOptions, TEXT } from '../options.ts'
import { logPointOf, offsetsOf } from '../store/log-point.ts'
import { type Store, withStore } from '../store/open-store.ts'
import { keyOf, readLogEnds } from '../store/read-log.ts'
import { createPaint } from '../terminal/layout.ts'
import { eventJson, eventLine } from './events/format-event.ts'
import { type RuledEvent, readRuledEvents, type Selected } from './events/read-events.ts'
import { rangesOf, selectedPartitions } from './events/selection.ts'

const help = `Prints the records of the log, each with its ruling.

  plantctl events --id 7                       every record of one id
  plantctl events --id 7 --to 2h               as of two hours ago
  plantctl events --from 15m | sort            the last 15 minutes, by time
  plantctl events --from 3-120 --to 3-140      partition 3, offsets 120 to 140; the format of Plants-Position
  plantctl events --partition 3 --limit 20
  plantctl events --follow --json | jq .id     everything from now on

  --id         only records with this id as key (--id=-7 for a negative one)
  --partition  only this partition; may be repeated
  --from       starts at this position, or at the first record of this time: an instant in UTC, or how long ago
  --to         ends after this position, or before the first record of this time
  --limit      prints at most this many records
  --follow     continues with new records until Ctrl-C; starts with new records unless --from or --id is given
  --json       one JSON object per line
  --raw        as --json, with the complete key, headers and value in base64

Each line has time, position, ruling, id, plant and event id. A partition is in log order. The rulings:
  created   the first claim of its id: it created the plant
  void      the id already existed; the line has the position of its creation
  repeated  the event that created the plant, written again by a retry; it changes nothing
  foreign   it claims no id and is parked; the line has the reason
  unknown   the read model does not match the log
A claim that this release cannot read is created or void like any other, and also parked.
`

export const events: Command = {
  summary: 'prints the records of the log, each with its ruling',
  help,
  async run(args, context) {
    const kinds = { id: TEXT, partition: LIST, from: TEXT, to: TEXT, limit: TEXT, follow: FLAG, json: FLAG, raw: FLAG }
    const { values } = readOptions(args, kinds)
    const { follow = false, json = false, raw = false } = values
    const id = idOf(values.id)
    const limit =
      numberOf('--limit', values.limit, Number.MAX_SAFE_INTEGER, 'a whole number') ?? Number.POSITIVE_INFINITY
    if (follow && values.to !== undefined) throw new UsageError('--follow cannot be combined with --to')
    await withStore(context, async (store) => {
      const { partitions } = store
      const point = (option: string, text: string | undefined) =>
        text === undefined ? undefined : logPointOf(option, text, partitions, Date.now())
      const [from, to] = [point('--from', values.from), point('--to', values.to)]
      const named = values.partition && partitionsOf(values.partition, partitions)
      const idsPartition = id === undefined ? undefined : partitionOf(keyOf(id), partitions)
      const selected = selectedPartitions(named, idsPartition, [from, to], allPartitions(partitions))
      const starts = await offsetsOf(store, from, (offset) => offset)
      const stops = await offsetsOf(store, to, after)
      const ranges = rangesOf(selected, { starts, stops, ends: await readLogEnds(store) }, { follow, id })
      const paint = createPaint(context.colours)
      const positionWidth = Math.max(
        ...[...ranges].map(([partition, { from, end = from }]) => formatPosition({ partition, offset: end }).length),
      )
      const format = (one: RuledEvent) =>
        json || raw ? JSON.stringify(eventJson(one, raw)) : eventLine(one, paint, positionWidth)
      const printed = await print(store, context, { ranges, id, limit }, format)
      if (printed === 0 && !follow) context.printError('No records found.\n')
    })
    return EXIT.ok
  },
}

/** Prints the selected records, at most `limit`; returns their number. */
async function print(
  store: Store,
  context: CliContext,
  { limit, ...selected }: Pick<Selected, 'ranges' | 'id'> & { limit: number },
  format: (one: RuledEvent) => string,
): Promise<number> {
  const enough = new AbortController()
  let printed = 0
  await readRuledEvents(store, {
    ...selected,
    signal: AbortSignal.any([context.signal, enough.signal]),
    async onEvents(events) {
      const lines = events.slice(0, limit - printed).map(format)
      printed += lines.length
      if (lines.length > 0) await context.print(`${lines.join('\n')}\n`)
      if (printed >= limit) enough.abort()
    },
  })
  return printed
}
