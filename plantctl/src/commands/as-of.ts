import { offsetsAt } from '@plant-store/shared/event-log/topic.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { after, allPartitions, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { formatPartitions } from '@plant-store/shared/runtime/format.ts'
import { type CliContext, type Command, EXIT, type ExitCode, UsageError } from '../command.ts'
import { readPlantsOfLog } from '../export/plants-of-log.ts'
import { writeExport } from '../export/write-export.ts'
import { idOf, readOptions } from '../options.ts'
import { type AsOfPoint, asOfPointOf } from '../store/log-point.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { logReader, partitionOfId, readLogEnds } from '../store/read-log.ts'
import { createReadingProgress } from '../terminal/progress.ts'
import { formatPlant, plantJson, readPlantAsOf } from './plant-as-of.ts'

const help = `Shows the past: one plant, or all plants, as of an instant or a position of the log.

  plantctl as-of 2027-01-31T12:00:00Z --id 7
  plantctl as-of 2h --output plants.jsonl
  plantctl as-of 3-120 --id=-7
  plantctl as-of 3-120,5-7 --rest empty > plants.jsonl

  --id      one plant: whether it existed, and the event that created it; without it all plants, in the format of
            "plantctl export"
  --rest    partitions that no position names: now (up to the end of the log) or empty (nothing of them); required when
            a partition that is needed has no position
  --output  writes all plants to this file, which appears under its name when it is complete; not with --id
  --json    with --id: one JSON object with id, state (created, unreadable or absent), partition, upTo (the last offset
            read, -1 for none), and unless absent position, event, at (the timestamp of the record), and
            the plant's fields

An instant covers, in each partition, the records before the first one with a later timestamp. It can also be given as
how long ago: 30s, 15m, 2h, 7d. A position is <partition>-<offset>, as in a Plants-Position header; commas separate
several. The record at the position is covered.
`

/** plantctl as-of */
export const asOf: Command = {
  summary: 'shows one plant, or all of them, as of a time or position',
  help,
  async run(args, context) {
    const { values, positionals } = readOptions(
      args,
      {
        id: { type: 'string' },
        rest: { type: 'string' },
        output: { type: 'string' },
        json: { type: 'boolean' },
      },
      true,
    )
    const [text, ...others] = positionals
    if (text === undefined || others.length > 0)
      throw new UsageError('expected one time or position: plantctl as-of <time or position>')
    const id = idOf(values.id)
    const rest = restOf(values.rest)
    if (id === undefined && values.json)
      throw new UsageError('--json needs --id: all plants are always written as JSON Lines')
    if (id !== undefined && values.output !== undefined) throw new UsageError('--output cannot be combined with --id')
    const now = Date.now()
    const store = await openStore(context)
    try {
      const point = asOfPointOf(text, store.partitions, now)
      if (id === undefined) return await exportAll(store, context, point, rest, values.output)
      return await showOne(store, context, point, rest, { id, json: values.json === true })
    } finally {
      await store.close()
    }
  },
}

async function exportAll(
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
      const read = logReader(store, context.signal, progress.onRead)
      await readPlantsOfLog({ read, ends, onPlants: add, onStart: progress.start })
      await progress.end()
      return ends
    })
    return EXIT.ok
  } finally {
    await progress.end()
  }
}

async function showOne(
  store: Store,
  { print, signal }: CliContext,
  point: AsOfPoint,
  rest: Rest | undefined,
  { id, json }: { id: PlantId; json: boolean },
): Promise<ExitCode> {
  const partition = partitionOfId(id, store.partitions)
  const ends = await endsAt(store, point, { rest, needed: [partition] })
  const plant = await readPlantAsOf(store, id, ends, signal)
  await print(json ? `${JSON.stringify(plantJson(plant))}\n` : formatPlant(plant))
  return EXIT.ok
}

/** How far partitions are read that no position names. */
type Rest = 'now' | 'empty'

function restOf(text: string | undefined): Rest | undefined {
  if (text === undefined || text === 'now' || text === 'empty') return text
  throw new UsageError(`--rest ${text}: expected now or empty`)
}

/**
 * The offset before which each partition ends as of a point; for a moment, that of the first later record. Throws a
 * UsageError for a position that the log has not reached, and when a needed partition has neither position nor `rest`.
 */
async function endsAt(
  store: Store,
  point: AsOfPoint,
  { rest, needed = allPartitions(store.partitions) }: { rest: Rest | undefined; needed?: Partition[] },
): Promise<Offset[]> {
  if (point.is === 'moment') {
    await readLogEnds(store)
    return offsetsAt(store.kafka, store.topic, point.ms + 1)
  }
  const { positions } = point
  const missing = needed.filter((partition) => !positions.has(partition))
  if (missing.length > 0 && rest === undefined) {
    throw new UsageError(
      `no position for ${formatPartitions(missing)}: add --rest now to read up to the end of the log, or --rest empty ` +
        'to leave out their records',
    )
  }
  const ends = await readLogEnds(store)
  return ends.map((end, partition) => {
    const position = positions.get(partition as Partition)
    if (position === undefined) return rest === 'now' ? end : FIRST
    if (position >= end) {
      throw new UsageError(`${partition}-${position}: partition ${partition} of the log ends before offset ${end}`)
    }
    return after(position)
  })
}
