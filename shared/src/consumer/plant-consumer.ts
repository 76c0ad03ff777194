import type { Kafka } from '../event-log/connection.ts'
import { createFollower } from '../event-log/follow.ts'
import { readGroupOffsets } from '../event-log/groups.ts'
import { assertWithinBounds, partitionsChanged, type TopicId } from '../event-log/log-identity.ts'
import { type LogEnds, readEnds } from '../event-log/topic.ts'
import { after, type Offset, type Partition } from '../plant/position.ts'
import type { Checkpoint } from '../protocol/checkpoint.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/retry.ts'
import { singleFlight } from '../runtime/single-flight.ts'
import { delay, systemTime } from '../runtime/time.ts'
import type { CheckedOptions } from './consume-options.ts'
import { createDelivery } from './delivery.ts'
import type { OpenFirstClaims } from './first-claims/first-claims.ts'
import { createGroupPosition } from './group-position.ts'
import { createHandOver } from './hand-over.ts'
import { consumerErrorOf } from './plant-consumer-error.ts'
import { plantRecordReader } from './plant-record.ts'
import { plantsHandlerOf } from './plants-handler.ts'
import { REMEDY } from './remedy.ts'

const WATCH_EVERY_MS = 10_000
/** How long the end may take after the handlers: committing, and leaving the group. */
const LEAVE_WITHIN_MS = 10_000
/** An event is there to be handled at once; and a pause ends as soon as the fetch under way. */
const FETCHING = { minBytes: 1, maxWaitMs: 250 }

export type PlantConsumer = {
  /** How many offsets of this process's partitions are in the log and not dealt with; undefined while that is not known. */
  lag(): number | undefined
  /** The next offset to be dealt with in each partition of this process. */
  positions(): Map<number, number>
  /** Why something does not go on now, in words; none when all is well. */
  problems(): string[]
  /** Resolves when no handler is called any more. The process stays a member of its group. */
  pause(): Promise<void>
  resume(): void
  /** Lets handlers finish, commits, leaves the group. A handler must not wait for it. */
  stop(): Promise<void>
  /** Resolves after `stop`; rejects with a PlantConsumerError when it can't go on. */
  ended: Promise<void>
}

/** A consumer that has begun: `begin` is where its group does, if it has committed nothing. */
export function createPlantConsumer(
  options: CheckedOptions & { log: Log; topicId: TopicId | undefined },
  kafka: Kafka,
  begin: readonly Offset[],
  firstClaims: OpenFirstClaims,
): PlantConsumer {
  const { topic, groupId, log, signal, stopWithinMs, onParked, onDeadLetter, maxAttempts } = options
  const { maxEvents, onPlants } = plantsHandlerOf(options)
  const [time, partitions] = [systemTime, begin.length]
  const ended = Promise.withResolvers<void>()
  const givenUp = new AbortController()
  let isHeld = false
  let ending: Promise<void> | undefined

  const group = createGroupPosition({
    partitions,
    begin,
    read: () => readGroupOffsets(kafka, groupId, topic),
    commit: (offsets) => follower.commit(offsets),
  })
  const delivery = createDelivery({
    ...{ firstClaims, time, log },
    startOf: group.startOf,
    handOver: createHandOver(
      { onPlantsCreated: onPlants, onParked, onDeadLetter, maxAttempts },
      givenUp.signal,
    ),
    lots: { maxEvents, giveParked: onParked !== undefined },
    mayGoOn: (partition) => !isHeld && ending === undefined && follower.assigned()?.has(partition) === true,
  })
  const follower = createFollower({
    ...{ kafka, topic, topicId: options.topicId, partitions, log, time, ends, remedy: REMEDY, ...FETCHING },
    groupId: () => groupId,
    read: plantRecordReader(partitions),
    retry: { firstMs: options.firstRetryMs, longestMs: options.longestRetryMs },
    checkpointOf,
    onRecords: delivery.onRecords,
    onRejoin: commitBeforeRejoining,
    onHalt: (error) => void end(error),
  })

  async function ends(): Promise<LogEnds> {
    const passed = delivery.passed()
    const found = await readEnds(kafka, topic)
    if (found.ends.length !== partitions) {
      throw partitionsChanged(`topic ${topic} had ${partitions} partitions and has ${found.ends.length}`)
    }
    assertWithinBounds(passed, found.ends, REMEDY)
    return found
  }

  /** Rejects when the topic is no longer the one that is followed. All partitions of an assignment ask at once. */
  const confirmTopic = singleFlight(() => follower.ends())

  /** The delivery is asked only of the topic that is followed: it may note with Kafka, under the topic's name, where it begins. */
  async function checkpointOf(partition: Partition): Promise<Checkpoint> {
    await confirmTopic()
    return delivery.checkpointOf(partition)
  }

  /** What was delivered of the partitions assigned now; undefined where it is not known yet from where to go on. */
  function delivered(): Map<Partition, Checkpoint | undefined> | undefined {
    const assigned = follower.assigned()
    if (assigned === undefined) return undefined
    const known = (partition: Partition, checkpoint: Checkpoint | undefined) =>
      checkpoint && delivery.deliveredOf(partition)
    return new Map([...assigned].map(([partition, checkpoint]) => [partition, known(partition, checkpoint)]))
  }

  function dealtWith(): Map<Partition, Checkpoint> {
    const known = [...(delivered() ?? [])].filter(
      (entry): entry is [Partition, Checkpoint] => entry[1] !== undefined,
    )
    return new Map(known)
  }

  /** Kafka takes a commit by the topic's name alone, also when nothing was fetched since that could tell of another one. */
  async function commit(): Promise<void> {
    if (!group.isBehind(dealtWith())) return
    await confirmTopic()
    // What was dealt with is looked at now: a partition that went to another member meanwhile would be set back.
    await group.commit(dealtWith())
  }

  /**
   * Without asking: the join does not wait, and what comes after it is refused, or sets another member back. Should
   * the topic be another one by now, the event that is committed is not in it.
   */
  function commitBeforeRejoining(): void {
    group.commit(dealtWith()).catch((err: unknown) => log.debug({ err }, 'not committed before rejoining'))
  }

  const repetition = { time, log, onHalt: (error: Error) => void end(error) }
  const repeated = [
    repeat({ ...repetition, everyMs: options.commitEveryMs, task: commit, what: 'committing' }),
    repeat({
      ...repetition,
      everyMs: WATCH_EVERY_MS,
      task: async () => void (await follower.ends()),
      what: 'checking the log',
    }),
  ]

  function end(failure?: Error): Promise<void> {
    ending ??= endOnce(failure)
    return ending
  }

  async function endOnce(failure: Error | undefined): Promise<void> {
    signal?.removeEventListener('abort', stopLater)
    follower.pause()
    await within(stopWithinMs, delivery.idle())
    givenUp.abort(new Error('the consumer stops, and waits for its handlers no longer'))
    const left = leave(failure === undefined)
    await within(
      LEAVE_WITHIN_MS,
      left.catch((err: unknown) => log.warn({ err }, 'the consumer did not leave in order')),
    )
    if (failure === undefined) ended.resolve()
    else ended.reject(consumerErrorOf(failure, 'unexpected'))
  }

  async function leave(mayCommit: boolean): Promise<void> {
    await delivery.idle()
    if (mayCommit)
      await commit().catch((err: unknown) => log.warn({ err }, 'the last position was not committed'))
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
    positions: () =>
      new Map(
        [...(delivered() ?? [])].flatMap(([partition, checkpoint]) =>
          checkpoint === undefined ? [] : [[partition, after(checkpoint.offset)]],
        ),
      ),
    problems: () => [...follower.problems(), ...repeated.flatMap(({ problem }) => problem() ?? [])],
    async pause() {
      isHeld = true
      follower.pause()
      await delivery.idle()
    },
    resume() {
      if (ending !== undefined) return
      isHeld = false
      follower.resume()
    },
    stop: () => end(),
    ended: ended.promise,
  }
}

async function within(ms: number, done: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  await Promise.race([done, delay(systemTime, ms, over.signal)])
  over.abort()
}
