import type { Kafka } from '../event-log/connection.ts'
import type { LogEnds } from '../event-log/log-ends.ts'
import { assertWithinBounds, SERVICE_REMEDY } from '../event-log/partition-cursors.ts'
import { checkTopic, type TopicSettings } from '../event-log/topic.ts'
import { assertSameTopic, type TopicId } from '../kafka-client/topic-id.ts'
import { allPartitions, type Offset, type Partition } from '../plant/offset.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import type { ReadModel } from '../read-model/read-model.ts'
import type { Log } from '../runtime/log.ts'
import { type Repeated, repeat } from '../runtime/repeat.ts'
import { retry } from '../runtime/retry.ts'
import type { Time } from '../runtime/time.ts'

const GIVE_UP_AFTER_MS = 120_000
const RETRY = { everyMs: 250, longestMs: 2_000 }

/** Which topic the log is, and where log and read model stand, per partition: the checkpoint, and the next offset. */
export type StartState = LogEnds & { checkpoints: Checkpoint[] }

/**
 * Waits for Kafka and Redis and checks all that the protocol rests on. Throws a PreconditionError as soon as
 * something is not as it must be, and any other error when one of them can't be reached for 2 minutes.
 */
export async function checkPreconditions(
  kafka: Kafka,
  readModel: ReadModel,
  settings: TopicSettings,
  log: Log,
): Promise<StartState> {
  return retry(() => check(kafka, readModel, settings, log), {
    ...RETRY,
    giveUpAfterMs: GIVE_UP_AFTER_MS,
    onFailure: (err) => log.warn({ err }, 'kafka or redis does not answer yet; trying again'),
  })
}

async function check(
  kafka: Kafka,
  readModel: ReadModel,
  settings: TopicSettings,
  log: Log,
): Promise<StartState> {
  await readModel.ready()
  await readModel.checkServer()
  const { warnings, ...standing } = await readStartState(
    readModel,
    () => checkTopic(kafka, settings),
    settings,
  )
  for (const warning of warnings) log.warn(warning)
  return standing
}

/** Asks where read model and log stand, and compares. Throws a PreconditionError when this can't be the model's log. */
export async function readStartState<T extends { ends: Offset[] }>(
  readModel: Pick<ReadModel, 'meta'>,
  readLog: () => Promise<T>,
  { partitions }: { partitions: number },
): Promise<T & { checkpoints: Checkpoint[] }> {
  const metas = await Promise.all(allPartitions(partitions).map((partition) => readModel.meta(partition)))
  const checkpoints = metas.map(({ checkpoint }) => checkpoint)
  // The log's ends after the checkpoints: the other way round a checkpoint could seem to lie beyond the end.
  const state = await readLog()
  const passed = allPartitions(partitions).map((p) => [p, checkpoints[p] as Checkpoint] as const)
  assertWithinBounds(passed, state.ends)
  return { ...state, checkpoints }
}

const WATCH_LOG_EVERY_MS = 30_000
/** A Redis that evicts forgets plants as soon as it is full. */
const WATCH_REDIS_EVERY_MS = 5_000

/** One who follows the log: it tells how far it has come, and is told where the log ends. */
export type WatchedReader = {
  /** Of the topic that it began with; undefined while brokers tell none. */
  topicId: TopicId | undefined
  passed(): ReadonlyMap<Partition, Checkpoint>
  noteEnds(ends: readonly Offset[]): void
}

/**
 * Checks again and again that topic and Redis are still as they must be, and that it is still the same log and holds
 * what was passed: settings change, and a failover may lead to a Redis with others.
 */
export function watchPreconditions(
  kafka: Kafka,
  readModel: ReadModel,
  settings: TopicSettings,
  { topicId: first, passed, noteEnds }: WatchedReader,
  common: { time: Time; log: Log; onHalt(error: Error): void },
): Pick<Repeated, 'close'> {
  let topicId = first

  async function checkLog(): Promise<void> {
    const checkpoints = passed()
    const found = await checkTopic(kafka, settings)
    noteEnds(found.ends)
    assertWithinBounds(checkpoints, found.ends)
    assertSameTopic(topicId, found.topicId, SERVICE_REMEDY)
    topicId ??= found.topicId
  }
  const watched = [
    repeat({ ...common, everyMs: WATCH_LOG_EVERY_MS, task: checkLog, what: 'checking the log' }),
    repeat({ ...common, everyMs: WATCH_REDIS_EVERY_MS, task: readModel.checkServer, what: 'checking Redis' }),
  ]
  return {
    async close() {
      await Promise.all(watched.map(({ close }) => close()))
    },
  }
}
