import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type CliContext, type Command, EXIT, type ExitCode, UsageError } from '../command.ts'
import { readPlantsOfLog } from '../export/plants-of-log.ts'
import { writeExport } from '../export/write-export.ts'
import { readOptions } from '../options.ts'
import { type AsOfPoint, asOfPoint } from '../store/as-of-point.ts'
import { endsAt, type Rest } from '../store/ends-at.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { logReader } from '../store/read-log.ts'
import { createReadingProgress } from '../terminal/reading-progress.ts'
import { safeJson } from '../terminal/safe-text.ts'
import { idOption } from './id-option.ts'
import { partitionOfId, plantAsOf, plantInWords, plantJson } from './plant-as-of.ts'

const help = `Tells how it was: one plant, or all of them, as of an instant or a position of the log.

  plantctl as-of 2027-01-31T12:00:00Z --id 7
  plantctl as-of 2h --output plants.jsonl
  plantctl as-of 3-120 --id=-7
  plantctl as-of 3-120,5-7 --rest empty > plants.jsonl

  --id      one plant: whether it was there, and what created it; without it all plants, as "plantctl export" writes them
  --rest    for partitions that a position does not name: now takes them as they are, empty as if nothing were there;
            it has to be said, for either could be meant, unless nothing of them is asked for
  --output  without --id a file, which gets this name when it is whole
  --json    with --id one JSON object: id, state (created, unreadable or absent), partition, upTo (the last offset looked
            at, -1 for none), and unless absent position, event, at (the time of the record), name and tag

As of an instant is what lies in each partition before the first record that is later; the times are those of the records.
It may also be said as how long ago: 30s, 15m, 2h, 7d. A position is that of Plants-Position, <partition>-<offset>, several
with commas; what lies at it belongs to it.
`

/** plantctl as-of */
export const asOf: Command = {
  summary: 'tells how one plant, or all of them, was at some time or position',
  help,
  async run(args, context) {
    const { values, positionals } = readOptions(
      args,
      {
        ...{ id: { type: 'string' }, rest: { type: 'string' }, output: { type: 'string' } },
        json: { type: 'boolean' },
      },
      true,
    )
    const [when, ...others] = positionals
    if (when === undefined || others.length > 0)
      throw new UsageError('as of when? plantctl as-of <time or position>')
    const id = idOption(values.id)
    const rest = restOf(values.rest)
    if (id === undefined && values.json)
      throw new UsageError('--json goes with --id: all plants are JSON Lines as they are')
    if (id !== undefined && values.output !== undefined)
      throw new UsageError('--output does not go with --id')
    const now = Date.now()
    const store = await openStore(context)
    try {
      const point = asOfPoint(when, store.partitions, now)
      if (id === undefined) return await tellAll(store, context, point, rest, values.output)
      return await tellOne(store, context, point, rest, { id, json: values.json === true })
    } finally {
      await store.close()
    }
  },
}

async function tellAll(
  store: Store,
  context: CliContext,
  point: AsOfPoint,
  rest: Rest | undefined,
  output: string | undefined,
): Promise<ExitCode> {
  const ends = await endsAt(store, point, { rest })
  const progress = createReadingProgress(context, 'exporting')
  try {
    await writeExport(store, context, output, async ({ add }) => {
      await readPlantsOfLog({
        ...{
          read: logReader(store, context.signal, progress.onRead),
          ends,
          onPlants: add,
          onBegin: progress.begin,
        },
      })
      await progress.end()
      return ends
    })
    return EXIT.done
  } finally {
    await progress.end()
  }
}

async function tellOne(
  store: Store,
  { out, signal }: CliContext,
  point: AsOfPoint,
  rest: Rest | undefined,
  { id, json }: { id: PlantId; json: boolean },
): Promise<ExitCode> {
  const partition = partitionOfId(id, store.partitions)
  const ends = await endsAt(store, point, { rest, wanted: [partition] })
  const told = await plantAsOf(store, id, ends, signal)
  await out(json ? `${safeJson(plantJson(told))}\n` : plantInWords(told))
  return EXIT.done
}

function restOf(text: string | undefined): Rest | undefined {
  if (text === undefined || text === 'now' || text === 'empty') return text
  throw new UsageError(`--rest ${text}: expected now or empty`)
}
