import { checkTopic, offsetsAt } from '@plant-store/shared/event-log/topic.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import {
  after,
  allPartitions,
  BEFORE_FIRST,
  FIRST,
  type Offset,
  type Partition,
} from '@plant-store/shared/plant/position.ts'
import type { ListedSpan } from '@plant-store/shared/protocol/list.ts'
import { formatPartitions } from '@plant-store/shared/runtime/format.ts'
import { type Command, EXIT, UsageError } from '../command.ts'
import { readPlantsOfLog } from '../export/plants-of-log.ts'
import { writeExport } from '../export/write-export.ts'
import { FLAG, readOptions, TEXT } from '../options.ts'
import { type LogPoint, logPointOf } from '../store/log-point.ts'
import { retryForSeconds, type Store, withStore, withUncheckedStore } from '../store/open-store.ts'
import { logReader, readCheckpoints, readLogEnds } from '../store/read-log.ts'
import { withProgress } from '../terminal/progress.ts'

const PLANTS_AT_ONCE = 1_000
const help = `Writes all plants as JSON Lines, from a replay of the log up to its current end, or up to an earlier point.

  plantctl export > plants.jsonl
  plantctl export --at 2027-01-31T12:00:00Z --output plants.jsonl
  plantctl export --at 3-120,5-7 --rest empty
  plantctl export --from-redis | tail -n 1

  --output      writes to this file, which appears under its name when it is complete; until then a previous file stays
  --at          the plants as of an instant in UTC, how long ago (30s, 15m, 2h, 7d), or positions. An instant covers, in
                each partition, the records before the first one with a later timestamp; a position covers its record
  --rest        partitions that no position names: now (up to the end of the log) or empty (nothing of them)
  --from-redis  exports what the read model serves instead of the log

One line per plant: {"id":"7","name":"…","tag":"…","position":"3-120","event":"<uuid>"}, with "unreadable":true instead
of the plant's fields when this release cannot read the event. Lines are ordered by partition, then by offset.

The last line is {"export":{"topic","partitions","plants","unreadable","positions","sha256"}}; an export without it is
incomplete. "sha256" is the digest of all lines before it. "--at <positions> --rest empty" writes the same export again.
`

export const exportPlants: Command = {
  summary: 'writes all plants as JSON Lines, now or at an earlier time or position',
  help,
  async run(args, context) {
    const { values } = readOptions(args, { output: TEXT, at: TEXT, rest: TEXT, 'from-redis': FLAG })
    const { at, output, rest, 'from-redis': fromRedis } = values
    if (rest !== undefined && rest !== 'now' && rest !== 'empty')
      throw new UsageError(`--rest ${rest}: expected now or empty`)
    if (fromRedis && at !== undefined) throw new UsageError('--from-redis cannot be combined with --at')
    const now = Date.now()
    // The read model may be all that is left of a lost log.
    const withSource = fromRedis ? withUncheckedStore : withStore
    await withSource(context, async (store) => {
      const point = at === undefined ? undefined : logPointOf('--at', at, store.partitions, now)
      if (point?.is === 'moment' && point.ms > now)
        throw new UsageError(`--at ${at} is in the future: the log can change until then`)
      if (rest !== undefined && point?.is !== 'positions')
        throw new UsageError(`--rest ${rest}: only for --at with positions, such as --at 3-120`)
      const ends = fromRedis ? [] : await endsAt(store, point, rest)
      await writeExport(store, context, output, async ({ add }) => {
        if (fromRedis) return readPlantsOfReadModel(store, add)
        await withProgress(context, 'exporting', ({ onStart, onRead }) =>
          readPlantsOfLog({ read: logReader(store, context.signal, onRead), ends, onPlants: add, onStart }),
        )
        return ends
      })
    })
    return EXIT.ok
  },
}

/**
 * The offset before which each partition ends at a point; for a moment, the offset of the first later record. Throws a
 * UsageError for a position that the log has not reached, and without `rest` for a partition without a position.
 */
async function endsAt(store: Store, point: LogPoint | undefined, rest: 'now' | 'empty' | undefined): Promise<Offset[]> {
  const ends = await readLogEnds(store)
  if (point === undefined) return ends
  if (point.is === 'moment') return offsetsAt(store.kafka, store.topic, point.ms + 1)
  const { positions } = point
  const missing = allPartitions(store.partitions).filter((partition) => !positions.has(partition))
  if (missing.length > 0 && rest === undefined) {
    throw new UsageError(
      `no position for ${formatPartitions(missing)}: add --rest now to read up to the end of the log, or --rest empty ` +
        'to leave out their records',
    )
  }
  for (const [partition, position] of positions) {
    const end = ends[partition] as Offset
    if (position >= end)
      throw new UsageError(`${partition}-${position}: partition ${partition} of the log ends before offset ${end}`)
    ends[partition] = after(position)
  }
  if (rest === 'empty') for (const partition of missing) ends[partition] = FIRST
  return ends
}

/**
 * Reads the plants that the read model serves, in log order, each partition up to the checkpoint it has at its first
 * read; resolves with the offsets before which they end. Rejects when the read model falls back or has another number
 * of partitions, and for invalid entries.
 */
export async function readPlantsOfReadModel(
  store: Pick<Store, 'kafka' | 'readModel' | 'topic' | 'partitions'>,
  onPlants: (partition: Partition, claims: Claim[]) => Promise<void>,
): Promise<Offset[]> {
  const { kafka, readModel } = store
  const checkpoints = await readCheckpoints(store)
  // PLANTS_TOPIC may be mistyped: such a topic has an empty read model.
  if (checkpoints.values().every(({ offset }) => offset === BEFORE_FIRST))
    await retryForSeconds(() => checkTopic(kafka, store), store.topic)
  const ends: Offset[] = []
  async function read(partition: Partition, from: number, known: Offset): Promise<ListedSpan> {
    const span = (await readModel.listEach([{ partition, from, count: PLANTS_AT_ONCE }])[0]) as ListedSpan
    if (span.checkpoint >= known) return span
    throw new Error(`the read model of partition ${partition} fell back during the export: try again`)
  }
  for (const [partition, { offset }] of checkpoints) {
    const { checkpoint, plants, claims } = await read(partition, 0, offset)
    await onPlants(partition, claims)
    for (let from = PLANTS_AT_ONCE; from < plants; from += PLANTS_AT_ONCE) {
      const span = await read(partition, from, checkpoint)
      await onPlants(partition, span.claims.slice(0, plants - from))
    }
    ends.push(after(checkpoint))
  }
  return ends
}
