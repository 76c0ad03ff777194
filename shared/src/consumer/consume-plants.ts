import { createKafka, type Kafka } from '../event-log/connection.ts'
import { readEnds } from '../event-log/ends.ts'
import { createFollower } from '../event-log/follow.ts'
import { readGroupOffsets } from '../event-log/group-offsets.ts'
import { anotherLog } from '../event-log/positions.ts'
import { refusalOf } from '../event-log/refusal.ts'
import { offsetsAt } from '../event-log/topic.ts'
import { after, FIRST, type Offset, type Partition } from '../plant/offset.ts'
import { PreconditionError } from '../process/failures.ts'
import { patiently } from '../process/patience.ts'
import { repeat } from '../process/repeat.ts'
import { delay, systemTime } from '../process/time.ts'
import { type Checkpoint, outOfBounds } from '../protocol/checkpoint.ts'
import { beginOf } from './begin.ts'
import { consoleLog } from './console-log.ts'
import { type CheckedOptions, type ConsumeOptions, checkOptions } from './consume-options.ts'
import { createDelivery } from './delivery.ts'
import type { OpenFirstClaims } from './first-claims.ts'
import { checkpointOfGroup, createGroupPosition } from './group-position.ts'
import { createHandOver, type Handlers } from './hand-over.ts'
import { inMemory } from './in-memory.ts'
import { consumerErrorOf, type PlantConsumerErrorCode } from './plant-consumer-error.ts'
import type { PlantCreated } from './plant-created-event.ts'
import { plantRecordReader } from './plant-record.ts'
import { REMEDIES } from './remedies.ts'

const CONNECT_RETRY = { everyMs: 250, longestMs: 2_000 }
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

/**
 * Calls a handler with each plant that was created, once in the log and at least once here: in the order of each
 * partition, never with a claim that came too late. Resolves when Kafka has answered and the group is being joined.
 * Rejects with a PlantConsumerError, or with the reason of `signal`.
 */
export async function consumePlants(given: ConsumeOptions): Promise<PlantConsumer> {
  const options = checkOptions(given)
  const { brokers, clientId, topic, ssl, sasl, signal, log = consoleLog } = options
  const security = { ...(ssl !== undefined && { ssl }), ...(sasl !== undefined && { sasl }) }
  const kafka = createKafka(brokers, clientId, log, security)
  try {
    const { ends, atTime } = await patiently(() => ask(kafka, options), {
      ...CONNECT_RETRY,
      giveUpAfterMs: options.connectWithinMs,
      signal,
      onFailure: (err) => log.warn({ err }, 'kafka does not answer yet; trying again'),
    }).catch(failWith('kafka-unreachable'))
    const begin = beginOf(options.from, ends, atTime)
    const surroundings = { topic, partitions: ends.length, kafka, log, time: systemTime }
    const { firstClaims: kind = inMemory() } = options
    const firstClaims = await kind.open(surroundings).catch(failWith('first-claims'))
    const consumer = run({ ...options, log }, kafka, begin, firstClaims)
    signal?.addEventListener('abort', () => void consumer.stop(), { once: true })
    if (signal?.aborted) await consumer.stop()
    signal?.throwIfAborted()
    return consumer
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}

/** Asks what the log looks like, and whether it is the one that the group has committed of. */
async function ask(kafka: Kafka, { topic, groupId, from, signal }: CheckedOptions) {
  signal?.throwIfAborted()
  try {
    // The ends after what was committed of them: the other way round that could seem to lie beyond.
    const committed = await readGroupOffsets(kafka, groupId, topic)
    const ends = await readEnds(kafka, topic)
    const stored = [...committed].map(
      ([partition, found]) => [partition, checkpointOfGroup(found, ends.length)] as const,
    )
    refuseOutOfBounds(new Map(stored), ends)
    const ms = typeof from === 'object' && 'time' in from ? from.time.getTime() : undefined
    return { ends, atTime: ms === undefined ? ends : await offsetsAt(kafka, topic, ms) }
  } catch (error) {
    throw refusalOf(error, topic)
  }
}

function run(
  options: CheckedOptions & { log: NonNullable<ConsumeOptions['log']> },
  kafka: Kafka,
  begin: readonly Offset[],
  firstClaims: OpenFirstClaims,
): PlantConsumer {
  const { topic, groupId, log, stopWithinMs } = options
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
    handOver: createHandOver(handlersOf(options), givenUp.signal),
    lots: {
      maxEvents: options.onPlantCreated === undefined ? options.maxBatch : 1,
      giveParked: options.onParked !== undefined,
    },
    mayGoOn: (partition) =>
      !isHeld &&
      ending === undefined &&
      !follower.isAwaited() &&
      follower.assigned()?.has(partition) === true,
  })
  const follower = createFollower({
    ...{ kafka, topic, partitions, log, time, ends, remedies: REMEDIES, ...FETCHING },
    groupId: () => groupId,
    read: plantRecordReader(partitions),
    retry: { firstMs: options.firstRetryMs, longestMs: options.longestRetryMs },
    checkpointOf: delivery.checkpointOf,
    onRecords: delivery.onRecords,
    onRejoin: () =>
      void commit().catch((err: unknown) => log.debug({ err }, 'not committed before rejoining')),
    onHalt: (error) => void end(error),
  })

  async function ends(): Promise<Offset[]> {
    const passed = delivery.passed()
    const found = await readEnds(kafka, topic)
    if (found.length !== partitions) {
      throw new PreconditionError(
        `topic ${topic} had ${partitions} partitions and has ${found.length}: ${REMEDIES.grown}`,
        'partitions-changed',
      )
    }
    refuseOutOfBounds(passed, found)
    return found
  }

  /** What was delivered of the partitions assigned now; undefined where it is not known yet from where to go on. */
  function delivered(): Map<Partition, Checkpoint | undefined> | undefined {
    const assigned = follower.assigned()
    if (assigned === undefined) return undefined
    const known = (partition: Partition, checkpoint: Checkpoint | undefined) =>
      checkpoint && delivery.deliveredOf(partition)
    return new Map([...assigned].map(([partition, checkpoint]) => [partition, known(partition, checkpoint)]))
  }

  async function commit(): Promise<void> {
    const passed = [...(delivered() ?? [])].filter(
      (entry): entry is [Partition, Checkpoint] => entry[1] !== undefined,
    )
    await group.commit(new Map(passed))
  }

  const repetition = { time, log, onHalt: (error: Error) => void end(error) }
  const repeated = [
    repeat({ ...repetition, everyMs: options.commitEveryMs, task: commit, what: 'committing' }),
    repeat({
      ...repetition,
      everyMs: WATCH_EVERY_MS,
      task: async () => follower.noteEnds(await ends()),
      what: 'checking the log',
    }),
  ]

  function end(failure?: Error): Promise<void> {
    ending ??= endOnce(failure)
    return ending
  }

  async function endOnce(failure: Error | undefined): Promise<void> {
    follower.hold()
    await within(stopWithinMs, delivery.idle())
    givenUp.abort(new Error('the consumer stops, and waits for its handlers no longer'))
    await within(LEAVE_WITHIN_MS, leave(failure === undefined))
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
      follower.hold()
      await delivery.idle()
    },
    resume() {
      if (ending !== undefined) return
      isHeld = false
      follower.release()
    },
    stop: () => end(),
    ended: ended.promise,
  }
}

function handlersOf({
  onPlantCreated,
  onPlantsCreated,
  onParked,
  onDeadLetter,
  maxAttempts,
}: CheckedOptions): Handlers {
  return {
    async onPlantsCreated(events, context) {
      if (onPlantsCreated !== undefined) return onPlantsCreated(events, context)
      return onPlantCreated?.(events[0] as PlantCreated, context)
    },
    ...{ onParked, onDeadLetter, maxAttempts },
  }
}

function refuseOutOfBounds(passed: ReadonlyMap<Partition, Checkpoint>, ends: readonly Offset[]): void {
  for (const [partition, checkpoint] of passed) {
    const reason = outOfBounds(checkpoint, ends[partition] ?? FIRST)
    if (reason !== undefined) throw anotherLog(reason, partition, REMEDIES)
  }
}

function failWith(code: PlantConsumerErrorCode) {
  return (error: unknown): never => {
    throw consumerErrorOf(error, code)
  }
}

async function within(ms: number, done: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  await Promise.race([done, delay(systemTime, ms, over.signal)])
  over.abort()
}
