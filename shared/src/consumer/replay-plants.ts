import { createKafka, type Security } from '../event-log/connection.ts'
import { readEnds } from '../event-log/ends.ts'
import { type Range, replay } from '../event-log/replay.ts'
import { offsetsAt } from '../event-log/topic.ts'
import { after, BEFORE_FIRST, FIRST, type Offset, type Partition } from '../plant/offset.ts'
import type { Log } from '../process/log.ts'
import { systemTime } from '../process/time.ts'
import { consoleLog } from './console-log.ts'
import { consumerErrorOf } from './plant-consumer-error.ts'
import type { PlantCreated } from './plant-created-event.ts'
import { type ParkedRecord, type PlantRecord, plantRecordReader } from './plant-record.ts'
import { REMEDIES } from './remedies.ts'
import { createReplayFold, type ReplayCounts } from './replay-fold.ts'
import { refuseBadOptions, refuseUnknownPartitions } from './replay-options.ts'
import { createReplayProgress, type ReplayProgress } from './replay-progress.ts'

/** Exactly one of the two. */
type OnPlants =
  | { onPlantCreated(event: PlantCreated): unknown; onPlantsCreated?: undefined }
  /** Events of one partition in order, at most `maxBatch` at once. */
  | { onPlantsCreated(events: PlantCreated[]): unknown; onPlantCreated?: undefined }

export type ReplayPlantsOptions = OnPlants &
  Security & {
    /** `host:port` of some of the brokers. */
    brokers: readonly string[]
    /** `plants` if not told. */
    topic?: string
    clientId?: string
    /** Warnings and errors go to the console if it is not given. */
    log?: Log
    /** How many events come at once at most: 1,000 if not told. */
    maxBatch?: number
    /** Is given the records that tell of no plant. */
    onParked?(record: ParkedRecord): unknown
    /** Told every so often, a second if not told, and at the end. Treated as a handler. */
    onProgress?(progress: ReplayProgress): unknown
    progressEveryMs?: number
    /**
     * What is delivered: all, or what was written from a time or from positions on (the next offset of each partition,
     * 0 where none is given). The whole log is read in any case, since only that tells who was first.
     */
    from?: 'beginning' | { time: Date } | { positions: ReadonlyMap<number, number> }
    /** For the first claims of all plants: 1,024 MiB if not told, about 25 million plants. */
    maxMib?: number
    /** Breaks the replay off. */
    signal?: AbortSignal
  }

/** What the whole log holds; `positions` has its end in each partition, from where `consumePlants` may go on. */
export type ReplaySummary = ReplayCounts & { positions: Map<number, number> }

const DEFAULT_MAX_MIB = 1_024
const DEFAULT_MAX_BATCH = 1_000
const DEFAULT_PROGRESS_EVERY_MS = 1_000

/**
 * Reads the log once, from its beginning to where it ends now, and delivers each plant that was created. Handlers are
 * called one at a time, each partition's in the order of its log; the next call comes when what the last one returned
 * has resolved. Rejects with what a handler threw, with the signal's reason, or with a PlantConsumerError; also when
 * Kafka can't be read for a minute. No handler is running then, and none is called any more.
 */
export async function replayPlants(options: ReplayPlantsOptions): Promise<ReplaySummary> {
  refuseBadOptions(options)
  const { signal } = options
  signal?.throwIfAborted()
  let failure: { error: unknown } | undefined
  try {
    return await run(options, (error) => {
      failure = { error }
    })
  } catch (error) {
    signal?.throwIfAborted()
    throw failure === undefined ? consumerErrorOf(error, 'kafka-unreachable') : failure.error
  }
}

/** Tells what a handler threw, which ends it, apart from all other errors. */
async function run(
  options: ReplayPlantsOptions,
  onHandlerFailed: (error: unknown) => void,
): Promise<ReplaySummary> {
  const { brokers, topic = 'plants', clientId = 'plants-replay', log = consoleLog, signal } = options
  const { ssl, sasl, maxMib = DEFAULT_MAX_MIB, progressEveryMs = DEFAULT_PROGRESS_EVERY_MS } = options
  const security = { ...(ssl !== undefined && { ssl }), ...(sasl !== undefined && { sasl }) }
  const kafka = createKafka(brokers, clientId, log, security)
  const ends = await readEnds(kafka, topic)
  const partitions = ends.length
  const begins = await beginsOf(options.from, partitions, (ms) => offsetsAt(kafka, topic, ms))
  const { onProgress: tell, ...handlers } = handlersOf(options, onHandlerFailed)
  const progress = createReplayProgress({
    ...{ of: ends.reduce<number>((sum, end) => sum + end, 0), time: systemTime, tell },
    everyMs: progressEveryMs,
  })
  const fold = createReplayFold({
    ...handlers,
    ...{ maxMib, signal },
    isWanted: (partition, offset) => offset >= (begins.get(partition) ?? FIRST),
  })
  let turn = Promise.resolve()

  async function take(partition: Partition, records: PlantRecord[], next: Offset): Promise<void> {
    signal?.throwIfAborted()
    await fold.take(partition, records)
    await progress.note(partition, next, fold.counts().plants)
  }

  try {
    await replay({
      ...{ kafka, topic, partitions, log, time: systemTime, read: plantRecordReader(partitions) },
      ...{ ends: () => readEnds(kafka, topic), remedies: REMEDIES },
      ...(signal !== undefined && { signal }),
      ranges: new Map(ends.map((end, partition) => [partition as Partition, wholeUpTo(end)])),
      onRecords(partition, records, reached) {
        // Behind one that failed none is taken any more.
        turn = turn.then(() => take(partition, records, after(reached.offset)))
        return turn
      },
    })
  } finally {
    await turn.catch(() => {})
  }
  await progress.end(fold.counts().plants)
  return { ...fold.counts(), positions: new Map(ends.map((end, partition) => [partition, end])) }
}

const wholeUpTo = (end: Offset): Range => ({ from: { offset: BEFORE_FIRST, eventId: '' }, end })

function handlersOf(options: ReplayPlantsOptions, onFailed: (error: unknown) => void) {
  const { onPlantCreated, onPlantsCreated, onParked, onProgress, maxBatch = DEFAULT_MAX_BATCH } = options
  const noting =
    <T>(handler: (given: T) => unknown) =>
    async (given: T): Promise<void> => {
      try {
        await handler(given)
      } catch (error) {
        onFailed(error)
        throw error
      }
    }
  return {
    maxEvents: onPlantsCreated === undefined ? 1 : maxBatch,
    onPlants: noting((events: PlantCreated[]) =>
      onPlantsCreated === undefined ? onPlantCreated(events[0] as PlantCreated) : onPlantsCreated(events),
    ),
    onParked: onParked && noting((record: ParkedRecord) => onParked(record)),
    onProgress: onProgress && noting((progress: ReplayProgress) => onProgress(progress)),
  }
}

/** From which offset of each partition on is delivered; from the first where none is told. */
async function beginsOf(
  from: ReplayPlantsOptions['from'],
  partitions: number,
  offsetsOfTime: (ms: number) => Promise<Offset[]>,
): Promise<ReadonlyMap<number, number>> {
  if (from === undefined || from === 'beginning') return new Map()
  if ('time' in from) return new Map((await offsetsOfTime(from.time.getTime())).entries())
  refuseUnknownPartitions(from.positions, partitions)
  return from.positions
}
