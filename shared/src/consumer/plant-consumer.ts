import { reasonOf } from '../event-log/broker-errors.ts'
import type { Kafka } from '../event-log/connection.ts'
import { createFollower } from '../event-log/follow.ts'
import { readGroupOffsets } from '../event-log/groups.ts'
import { assertWithinBounds, type KnownEnds, partitionsChanged } from '../event-log/log-identity.ts'
import { type LogEnds, readKnownEnds } from '../event-log/topic.ts'
import { undecodableText } from '../event-log/undecodable.ts'
import { after, type Offset, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import { repeat } from '../runtime/retry.ts'
import { singleFlight } from '../runtime/single-flight.ts'
import { systemTime, within } from '../runtime/time.ts'
import { withinBatchSpan } from '../tracing/spans.ts'
import { createDelivery } from './delivery.ts'
import type { OpenFirstClaims } from './first-claims/first-claims.ts'
import { createGroupPosition } from './group-position.ts'
import { createHandlerCaller, type HandlerContext, plantsHandlerOf } from './handlers.ts'
import type { CheckedConsumeOptions } from './options.ts'
import { consumerErrorOf, PlantConsumerError, REMEDY } from './plant-consumer-error.ts'
import { type PlantCreated, plantRecordReader } from './plant-record.ts'
import { createPositionWaits } from './position-waits.ts'

const WATCH_EVERY_MS = 10_000
const CHECK_WAITS_EVERY_MS = 1_000
/** The limit for the commit and for leaving the group after the handlers have ended. */
const LEAVE_WITHIN_MS = 10_000
/** Events are delivered at once; and a pause takes effect when the fetch in flight ends. */
const FETCH_LIMITS = { maxWaitTimeInMs: 250 }

export type PlantConsumer = {
  /** Lag of this process's partitions: offsets in the log that are not processed. Undefined while it is not known. */
  lag(): number | undefined
  /** The next offset to process in each partition of this process. */
  positions(): Map<number, number>
  /** Current problems as text for people; empty when there is none. */
  problems(): string[]
  /** Resolves when no handler is running. The process stays a member of its group. */
  pause(): Promise<void>
  resume(): void
  /**
   * Resolves when the group has processed everything up to a position: the `Plants-Position` header of a response of the
   * api, or several, separated by commas. A dead letter is processed, and what `from` left out. A handler must not wait
   * for it. Rejects with the reason of `signal`, or with a PlantConsumerError: `invalid-position` for a text that is not
   * a position of this log, as far as that can be seen; `stopped` after `stop`; the error of `ended`.
   */
  waitFor(position: string, options?: { signal?: AbortSignal | undefined }): Promise<void>
  /** Waits for running handlers, commits, and leaves the group. A handler must not wait for it. */
  stop(): Promise<void>
  /** Resolves after `stop`. Rejects with a PlantConsumerError when the consumer cannot continue. */
  ended: Promise<void>
}

/** Starts a consumer. `start` are the first offsets of a group that has not committed any. */
export function createPlantConsumer(
  options: CheckedConsumeOptions & Pick<LogEnds, 'topicId'>,
  kafka: Kafka,
  start: readonly (Offset | undefined)[],
  firstClaims: OpenFirstClaims,
): PlantConsumer {
  const { topic, groupId, log, signal, stopWithinMs, onParked } = options
  const { maxEvents, onPlants } = plantsHandlerOf(options)
  const [time, partitions] = [systemTime, start.length]
  const ended = Promise.withResolvers<void>()
  const abandoned = new AbortController()
  let isPaused = false
  let ending: Promise<void> | undefined

  const waits = createPositionWaits(partitions)
  const group = createGroupPosition({
    partitions,
    start,
    read: () => readGroupOffsets(kafka, groupId, topic),
    commit: (offsets) => follower.commit(offsets),
  })
  const delivery = createDelivery({
    firstClaims,
    time,
    log,
    startOf: group.startOf,
    onDelivered: waits.passed,
    callHandler: createHandlerCaller({ ...options, onPlantsCreated: handleWithinSpan }, abandoned.signal),
    batching: { maxEvents, deliverParked: onParked !== undefined },
    mayContinue: (partition) => !isPaused && ending === undefined && follower.assigned()?.has(partition) === true,
  })
  const follower = createFollower({
    fetchLimits: FETCH_LIMITS,
    kafka,
    topic,
    topicId: options.topicId,
    partitions,
    log,
    time,
    ends,
    remedy: REMEDY,
    groupId: () => groupId,
    read: plantRecordReader(partitions),
    retry: { firstMs: options.firstRetryMs, longestMs: options.longestRetryMs },
    checkpointOf,
    onRecords: delivery.onRecords,
    onRejoin: commitBeforeRejoining,
    onHalt: (error) => void end(error),
  })

  function handleWithinSpan(events: PlantCreated[], context: HandlerContext): Promise<unknown> {
    const { partition } = events[0] as PlantCreated
    return withinBatchSpan('process', { topic, partition, groupId }, events, async () => onPlants(events, context))
  }

  async function ends(): Promise<KnownEnds> {
    const passed = delivery.passed()
    const found = await readKnownEnds(kafka, topic)
    if (found.ends.length !== partitions) {
      throw partitionsChanged(`topic ${topic} had ${partitions} partitions and has ${found.ends.length}`)
    }
    assertWithinBounds(passed, found.ends, REMEDY)
    return found
  }

  /** Rejects when the topic was replaced. All partitions of an assignment call it at the same time. */
  const confirmTopic = singleFlight(() => follower.ends())

  /** Confirms the topic first: the delivery may commit the group's start in Kafka, under the name of the topic. */
  async function checkpointOf(partition: Partition): Promise<Checkpoint> {
    await confirmTopic()
    return delivery.checkpointOf(partition)
  }

  /** What was delivered of the assigned partitions; undefined where it is not known yet where to continue. */
  function delivered(): Map<Partition, Checkpoint | undefined> | undefined {
    const assigned = follower.assigned()
    if (assigned === undefined) return undefined
    const known = (partition: Partition, checkpoint: Checkpoint | undefined) =>
      checkpoint && delivery.deliveredOf(partition)
    return new Map([...assigned].map(([partition, checkpoint]) => [partition, known(partition, checkpoint)]))
  }

  function processed(): Map<Partition, Checkpoint> {
    const known = [...(delivered() ?? [])].filter((entry): entry is [Partition, Checkpoint] => entry[1] !== undefined)
    return new Map(known)
  }

  /** Kafka accepts a commit by the topic's name alone, even if the topic was replaced since the last fetch. */
  async function commit(): Promise<void> {
    if (!group.isBehind(processed())) return
    await confirmTopic()
    // Read again after the confirmation: a partition that has moved to another member would be set back.
    await group.commit(processed())
  }

  /**
   * Without confirming the topic: the join does not wait, and a later commit is rejected or sets another member back.
   * If the topic was replaced, it does not contain the event id that is committed.
   */
  function commitBeforeRejoining(): void {
    group
      .commit(processed())
      .catch((err: unknown) => log.debug({ err }, 'the position was not committed before rejoining the group'))
  }

  /** What only Kafka knows of the positions that are waited for: the end of the log, and what other members processed. */
  async function checkWaits(): Promise<void> {
    await waits.check(follower.ends)
    if ([...waits.waitedFor()].every((partition) => follower.assigned()?.has(partition))) return
    for (const [partition, { next }] of await readGroupOffsets(kafka, groupId, topic))
      waits.passed(partition, (next - 1) as Offset)
  }

  const repeatOptions = {
    ...{ time, log },
    reasonOf: (error: unknown) => reasonOf(error, { topic, groupId }),
    onHalt: (error: Error) => void end(error),
  }
  const repeated = [
    repeat({ ...repeatOptions, everyMs: options.commitEveryMs, task: commit, what: 'committing' }),
    repeat({ ...repeatOptions, everyMs: WATCH_EVERY_MS, task: follower.ends, what: 'checking the log' }),
    repeat({ ...repeatOptions, everyMs: CHECK_WAITS_EVERY_MS, task: checkWaits, what: 'checking positions' }),
  ]

  function end(failure?: Error): Promise<void> {
    ending ??= endOnce(failure)
    return ending
  }

  async function endOnce(failure: Error | undefined): Promise<void> {
    signal?.removeEventListener('abort', stopLater)
    follower.pause()
    await within(stopWithinMs, delivery.idle())
    const error = failure && consumerErrorOf(failure, 'unexpected')
    waits.end(error ?? new PlantConsumerError('stopped', 'the consumer was stopped'))
    abandoned.abort(new Error('the consumer stops and no longer waits for its handlers'))
    const left = leave(error === undefined).catch((err: unknown) => {
      log.warn({ err }, 'the consumer did not leave its group cleanly')
    })
    await within(LEAVE_WITHIN_MS, left)
    if (error === undefined) ended.resolve()
    else ended.reject(error)
  }

  async function leave(mayCommit: boolean): Promise<void> {
    await delivery.idle()
    if (mayCommit) await commit().catch((err: unknown) => log.warn({ err }, 'the last position was not committed'))
    await Promise.all([follower.close(), ...repeated.map(({ close }) => close())])
    await firstClaims.close()
  }

  function stopLater(): void {
    void end()
  }

  signal?.addEventListener('abort', stopLater)
  follower.start()
  return {
    lag: () => follower.lag(delivered()),
    positions: () => new Map([...processed()].map(([partition, { offset }]) => [partition, after(offset)])),
    problems: () => [
      ...follower.problems(),
      ...follower.undecodable().map(undecodableText),
      ...delivery.problems(),
      ...repeated.flatMap(({ problems }) => problems()),
    ],
    async pause() {
      isPaused = true
      follower.pause()
      await delivery.idle()
    },
    resume() {
      if (ending !== undefined) return
      isPaused = false
      follower.resume()
    },
    waitFor: (position, { signal: aborted } = {}) => waits.wait(position, aborted),
    stop: () => end(),
    ended: ended.promise,
  }
}
