import { createKafka } from '../../event-log/connection.ts'
import { type Range, replay } from '../../event-log/replay.ts'
import { readEnds } from '../../event-log/topic.ts'
import { after, BEFORE_FIRST, type Offset, type Partition } from '../../plant/position.ts'
import { systemTime } from '../../runtime/time.ts'
import { atTimeOf, beginOf } from '../begin.ts'
import { consoleLog } from '../console-log.ts'
import { consumerErrorOf } from '../plant-consumer-error.ts'
import type { PlantCreated } from '../plant-created-event.ts'
import { type ParkedRecord, type PlantRecord, plantRecordReader } from '../plant-record.ts'
import { plantsHandlerOf } from '../plants-handler.ts'
import { REMEDY } from '../remedy.ts'
import { createReplayFold, type ReplayCounts } from './replay-fold.ts'
import { type CheckedReplayOptions, checkReplayOptions, type ReplayPlantsOptions } from './replay-options.ts'
import { createReplayProgress, type ReplayProgress } from './replay-progress.ts'

/** What the whole log holds; `positions` has its end in each partition, from where `consumePlants` may go on. */
export type ReplaySummary = ReplayCounts & { positions: Map<number, number> }

/**
 * Reads the log once, from its beginning to where it ends now, and delivers each plant that was created. Handlers are
 * called one at a time, each partition's in the order of its log; the next call comes when what the last one returned
 * has resolved. Rejects with what a handler threw, with the signal's reason, or with a PlantConsumerError; also when
 * Kafka can't be read for a minute. No handler is running then, and none is called any more.
 */
export async function replayPlants(given: ReplayPlantsOptions): Promise<ReplaySummary> {
  const options = checkReplayOptions(given)
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
  options: CheckedReplayOptions,
  onHandlerFailed: (error: unknown) => void,
): Promise<ReplaySummary> {
  const { brokers, topic, clientId, from, log = consoleLog, maxMib, progressEveryMs, signal } = options
  const kafka = createKafka(brokers, clientId, log, options)
  const { ends } = await readEnds(kafka, topic)
  const partitions = ends.length
  const begin = beginOf(from, ends, await atTimeOf(from, kafka, topic, ends))
  const { onProgress: tell, ...handlers } = handlersOf(options, onHandlerFailed)
  const progress = createReplayProgress({
    ...{ of: ends.reduce<number>((sum, end) => sum + end, 0), time: systemTime, tell },
    everyMs: progressEveryMs,
  })
  const fold = createReplayFold({
    ...handlers,
    ...{ maxMib, signal },
    isWanted: (partition, offset) => offset >= (begin[partition] as Offset),
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
      ...{ ends: () => readEnds(kafka, topic), remedy: REMEDY },
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

function handlersOf(options: CheckedReplayOptions, onFailed: (error: unknown) => void) {
  const { onParked, onProgress } = options
  const { maxEvents, onPlants } = plantsHandlerOf(options)
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
    maxEvents,
    onPlants: noting((events: PlantCreated[]) => onPlants(events)),
    onParked: onParked && noting((record: ParkedRecord) => onParked(record)),
    onProgress: onProgress && noting((progress: ReplayProgress) => onProgress(progress)),
  }
}
