import { replay } from '../event-log/replay.ts'
import { readEnds } from '../event-log/topic.ts'
import { after, FIRST, type Offset, type Partition } from '../plant/position.ts'
import { BEFORE_LOG } from '../protocol/checkpoint.ts'
import { systemTime } from '../runtime/time.ts'
import { CONNECT_WITHIN_MS, connectKafka } from './connect-kafka.ts'
import { plantsHandlerOf } from './handlers.ts'
import {
  type CheckedReplayOptions,
  checkReplayOptions,
  type ReplayPlantsOptions,
  type ReplayProgress,
} from './options.ts'
import { consumerErrorOf, REMEDY } from './plant-consumer-error.ts'
import { type PlantRecord, plantRecordReader } from './plant-record.ts'
import { createReplayFold, type ReplayCounts } from './replay-fold.ts'
import { offsetsAtTimeOf, startOffsetsOf } from './start-offsets.ts'

/** Counts of the whole log. `positions` is its end in each partition, where `consumePlants` may continue. */
export type ReplaySummary = ReplayCounts & { positions: Map<number, number> }

/**
 * Reads the log once, from its beginning to its end at the time of the call, and delivers each plant that was created.
 * Calls one handler at a time, for each partition in log order; the next call starts when the result of the last one
 * has resolved. Rejects with the error of a handler, with the signal's reason, or with a PlantConsumerError, also when
 * Kafka cannot be read for a minute. No handler is running then, and none is called afterwards.
 */
export async function replayPlants(given: ReplayPlantsOptions): Promise<ReplaySummary> {
  const options = checkReplayOptions(given)
  const { signal } = options
  signal?.throwIfAborted()
  try {
    return await run(options)
  } catch (error) {
    signal?.throwIfAborted()
    throw error instanceof HandlerFailed ? error.cause : consumerErrorOf(error, 'kafka-unreachable')
  }
}

/** Its cause, the error of a handler, ends the replay unchanged. */
class HandlerFailed extends Error {}

/** Marks the errors of a handler. */
const marking =
  <T>(handler: (argument: T) => unknown) =>
  async (argument: T): Promise<void> => {
    try {
      await handler(argument)
    } catch (cause) {
      throw new HandlerFailed('a handler failed', { cause })
    }
  }

async function run(options: CheckedReplayOptions): Promise<ReplaySummary> {
  const { topic, from, log, maxMib, progressEveryMs, onParked, onProgress, signal } = options
  const { kafka, reply } = await connectKafka({ ...options, connectWithinMs: CONNECT_WITHIN_MS }, (client) =>
    readEnds(client, topic),
  )
  const { ends } = reply
  const partitions = ends.length
  const start = startOffsetsOf(from, ends, await offsetsAtTimeOf(from, kafka, topic, ends))
  const { maxEvents, onPlants } = plantsHandlerOf(options)
  const total = ends.reduce<number>((sum, end) => sum + end, 0)
  const progress = createReplayProgress(total, progressEveryMs, onProgress && marking(onProgress))
  const isWanted = (partition: Partition, offset: Offset) => offset >= (start[partition] as Offset)
  const fold = createReplayFold({
    ...{ maxMib, maxEvents, isWanted, signal },
    onPlants: marking(onPlants),
    onParked: onParked && marking(onParked),
  })
  /** Records of all partitions are folded one delivery after another. */
  let queue = Promise.resolve()

  async function apply(partition: Partition, records: PlantRecord[], next: Offset): Promise<void> {
    signal?.throwIfAborted()
    await fold.apply(partition, records)
    await progress.advance(partition, next, fold.counts().plants)
  }

  try {
    await replay({
      kafka,
      topic,
      partitions,
      log,
      time: systemTime,
      read: plantRecordReader(partitions),
      ends: () => readEnds(kafka, topic),
      remedy: REMEDY,
      ...(signal !== undefined && { signal }),
      ranges: new Map(ends.map((end, partition) => [partition as Partition, { from: BEFORE_LOG, end }])),
      onRecords(partition, records, reached) {
        // After a failure, no further delivery is applied.
        queue = queue.then(() => apply(partition, records, after(reached.offset)))
        return queue
      },
    })
  } finally {
    await queue.catch(() => {})
  }
  await progress.end(fold.counts().plants)
  return { ...fold.counts(), positions: new Map(ends.map((end, partition) => [partition, end])) }
}

/** Reports progress at most every `everyMs`, and at the end. Rejects with the error of `onProgress`. */
function createReplayProgress(of: number, everyMs: number, onProgress?: (progress: ReplayProgress) => Promise<void>) {
  const startedAt = systemTime.now()
  const next = new Map<Partition, Offset>()
  let reportedAt = startedAt
  let read = 0

  async function report(plants: number): Promise<void> {
    reportedAt = systemTime.now()
    const seconds = (reportedAt - startedAt) / 1_000
    await onProgress?.({ read, of, plants, perSecond: seconds > 0 ? Math.round(read / seconds) : 0 })
  }

  return {
    /** A partition was read up to, but not including, this offset. */
    async advance(partition: Partition, nextOffset: Offset, plants: number): Promise<void> {
      const before = next.get(partition) ?? FIRST
      if (nextOffset > before) next.set(partition, nextOffset)
      read += Math.max(0, nextOffset - before)
      if (systemTime.now() - reportedAt >= everyMs) await report(plants)
    },
    end: report,
  }
}
