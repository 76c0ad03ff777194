import { addAbortListener } from 'node:events'
import type { ConsumerConfig, EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs'
import type { Membership } from '../kafka-client/consumer-group.ts'
import { undecodableIn } from '../kafka-client/fetched-records.ts'
import type { ExtendedConsumer } from '../kafka-client/kafkajs.ts'
import type { LogRecord, StoredRecord } from '../plant/plant-created.ts'
import { after, FIRST, type Offset, offsetOf, type Partition } from '../plant/position.ts'
import type { Delivery } from '../protocol/checkpoint.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { createBackOff } from '../runtime/retry.ts'
import { delay } from '../runtime/time.ts'
import { reasonOf, refusalOf } from './broker-errors.ts'
import { createFetchPace, type FetchPace } from './fetch-pace.ts'
import type { GroupOffset } from './groups.ts'
import { assertSameTopic, type KnownEnds, SERVICE_REMEDY, type TopicId } from './log-identity.ts'
import { createPartitionCursors, type PartitionCursorsOptions, type RecordSink } from './partition-cursors.ts'
import { createThrottling } from './throttling.ts'
import { checkLedPartitions } from './topic.ts'
import type { TopicSettings } from './topic-configuration.ts'
import { undecodableMetadata } from './undecodable.ts'

/** The limits of a fetch that are not the defaults of kafkajs: 1 byte or 5 s, 10 MiB, 1 MiB for each partition. */
export type FetchLimits = Pick<ConsumerConfig, 'minBytes' | 'maxWaitTimeInMs' | 'maxBytes' | 'maxBytesPerPartition'>

/** A record as a fetch returns it, with the timestamp of its producer or of the broker (ms since 1970). */
export type FetchedRecord = StoredRecord & { timestampMs: number }

export type FollowOptions<R extends LogRecord = LogRecord> = TopicSettings &
  RecordSink<R> &
  PartitionCursorsOptions & {
    kafka: Kafka
    /** The id that the topic must have. Undefined: the id of the topic that is found first, if brokers report ids. */
    topicId?: TopicId | undefined
    /** Converts a record for the sink. `decoded` is the record as the client has it. */
    read(record: FetchedRecord, partition: Partition, decoded: KafkaMessage): R
    /** The partitions to follow; all that the group assigns unless given. */
    only?: ReadonlySet<Partition>
    /**
     * The group to join, called for each new consumer. Members of a group share the partitions. A group without other
     * members assigns all of them, and a new group does so at once; in an existing one the session of the previous
     * consumer must first expire.
     */
    groupId(): string
    /**
     * Returns the topic id and the next offset to be written in each partition, or throws a PreconditionError when the
     * topic is not as required. `checkLedPartitions` unless given.
     */
    ends?(): Promise<KnownEnds>
    /** Called whenever the ends are read: at each assignment, and by `ends`. */
    onEnds?(ends: KnownEnds['ends']): void
    /** If true, `onHalt` is called when Kafka refuses the user; else the follower retries until Kafka accepts. */
    haltsWhenRefused?: boolean
    /** Called before the group is joined again: the next assignments find what is committed in it. */
    onRejoin?(): void
    fetchLimits: FetchLimits
    /** Waits after a fetch with records; after one without, none. No waits unless given. */
    fetchPace?: FetchPace
  }

type Batch = EachBatchPayload['batch'] & { fetchedOffset: string }

const [SESSION_TIMEOUT_MS, HEARTBEAT_MS] = [6_000, 2_000]
/** The time that the group waits for members to join again. With kafkajs's default a close may take a minute. */
const REBALANCE_TIMEOUT_MS = 10_000
const RESTART = { firstMs: 250, longestMs: 5_000 }

export type Follower = ReturnType<typeof createFollower>

/**
 * Follows the committed records of a topic into a sink. kafkajs has no assign(): the consumer joins a group, but the
 * offsets of the group mean nothing here; partition-cursors.ts has the rules. The follower reads only the topic that it
 * found first: it fetches by topic id, and another topic of the same name halts it.
 */
export function createFollower<R extends LogRecord>(options: FollowOptions<R>) {
  const { kafka, topic, partitions, log, time, only, read, remedy = SERVICE_REMEDY } = options
  const readEnds = options.ends ?? (() => checkLedPartitions(kafka, { topic, partitions }))
  let consumer: ExtendedConsumer
  const membership: Membership = {}
  let { topicId } = options
  let running: Promise<void> | undefined
  /** The reason why the previous consumer ended; undefined once the group is joined. */
  let failure: string | undefined
  let groupId: string | undefined
  const backOff = createBackOff(RESTART)
  const committed = new Map<Partition, GroupOffset>()
  /** The highest end of each partition that was seen. */
  const knownEnds = new Map<Partition, Offset>()
  /** The partitions that are paused until their next seek. */
  const pausedPartitions = new Set<Partition>()
  let isPaused = false
  const throttling = createThrottling(time)
  const cursors = createPartitionCursors(options, { pause: pausePartition, seek, ends }, options)
  const { closing, ledBy } = cursors
  const waitAfter = options.fetchPace && createFetchPace(options.fetchPace, time)

  function pausePartition(partition: Partition): void {
    pausedPartitions.add(partition)
    stopFetching([partition])
  }

  function stopFetching(stopped: Partition[]): void {
    ofConsumer(() => consumer.pause([{ topic, partitions: stopped }]))
  }

  function seek(partition: Partition, offset: Offset): void {
    pausedPartitions.delete(partition)
    ofConsumer(() => {
      consumer.seek({ topic, partition, offset: String(offset) })
      if (!isPaused) consumer.resume([{ topic, partitions: [partition] }])
    })
  }

  function ofConsumer(call: () => void): void {
    try {
      call()
    } catch {
      // Between two consumers nothing is fetched, and the next assignment seeks.
    }
  }

  function updateEnd(partition: Partition, end: Offset): void {
    if (end > (knownEnds.get(partition) ?? FIRST)) knownEnds.set(partition, end)
  }

  function updateEnds(ends: KnownEnds['ends']): void {
    for (const [partition, end] of ends.entries()) if (end !== undefined) updateEnd(partition as Partition, end)
  }

  async function ends(): Promise<KnownEnds['ends']> {
    const found = await readEnds()
    assertSameTopic(topicId, found.topicId, remedy)
    topicId ??= found.topicId
    updateEnds(found.ends)
    options.onEnds?.(found.ends)
    return found.ends
  }

  function deliveryOf(batch: Batch, partition: Partition): Delivery<R> {
    updateEnd(partition, offsetOf(batch.highWatermark))
    const requested = offsetOf(batch.fetchedOffset)
    const undecodable = undecodableIn(batch.messages)
    if (undecodable !== undefined) {
      // The offset may be damaged, too.
      const offset = Math.max(requested, Number(undecodable.offset)) as Offset
      return { requested, last: requested, records: [], undecodable: { ...undecodable, offset } }
    }
    return {
      requested,
      last: offsetOf(batch.lastOffset()),
      records: batch.messages.map((decoded) => {
        const { offset, key, value, headers = {}, timestamp } = decoded
        const record = { offset: offsetOf(offset), key, value, headers, timestampMs: Number(timestamp) }
        return read(record, partition, decoded)
      }),
    }
  }

  async function eachBatch(payload: EachBatchPayload): Promise<void> {
    const { batch, resolveOffset, isRunning, isStale, heartbeat } = payload
    const partition = batch.partition as Partition
    const { length } = batch.messages
    const nextFetch = length > 0 && waitAfter ? delay(time, waitAfter(length), closing) : undefined
    const delivered = cursors.deliver(partition, () =>
      isRunning() && !isStale() ? deliveryOf(batch as Batch, partition) : undefined,
    )
    const reached = await withHeartbeats(heartbeat, delivered)
    // No reader reaches the offset of a batch that cannot be decoded.
    if (reached !== undefined && reached >= Number(batch.lastOffset())) resolveOffset(batch.lastOffset())
    // kafkajs fetches again when all batches of a fetch are done.
    await nextFetch
  }

  /** kafkajs sends no heartbeat while a batch is handled, so the group would expel a member with a slow sink. */
  function withHeartbeats<T>(heartbeat: () => Promise<void>, handling: Promise<T>): Promise<T> {
    let isDone = false
    let cancel = () => {}
    async function beat(): Promise<void> {
      // An error comes again with the heartbeat that kafkajs sends after the batch.
      await heartbeat().catch(throttling.heartbeatFailed)
      if (!isDone) beatLater()
    }
    function beatLater(): void {
      cancel = time.after(HEARTBEAT_MS, () => void beat())
    }
    beatLater()
    return handling.finally(() => {
      isDone = true
      cancel()
    })
  }

  async function commit(offsets: readonly ({ partition: Partition } & GroupOffset)[]): Promise<void> {
    await consumer.commitOffsets(
      offsets.map(({ partition, next, metadata }) => ({ topic, partition, offset: String(next), metadata })),
    )
  }

  function reportFailure(error: unknown, text: string): void {
    const refusal = refusalOf(error, { topic, groupId })
    failure = reasonOf(error, { topic, groupId })
    log.warn({ err: error }, refusal ?? text)
    if (refusal !== undefined && options.haltsWhenRefused)
      options.onHalt(new PreconditionError(refusal, 'not-authorized'))
  }

  /** Runs a consumer from its connection to a crash or the close. */
  async function runConsumer(): Promise<void> {
    groupId = options.groupId()
    consumer = kafka.consumer({
      groupId,
      sessionTimeout: SESSION_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_MS,
      rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      ...options.fetchLimits,
      allowAutoTopicCreation: false,
      readUncommitted: false,
      // `run` below starts a new consumer.
      retry: { restartOnFailure: async () => false },
    }) as ExtendedConsumer
    const outOfRange = (partition: number) => void cursors.outOfRange(partition as Partition)
    consumer.readFor({ topicIdOf: () => topicId, membership, outOfRange, ledBy })
    throttling.watch(consumer)
    const { GROUP_JOIN, REBALANCING, CRASH, RECEIVED_UNSUBSCRIBED_TOPICS } = consumer.events
    const ended = Promise.withResolvers<void>()
    const end = () => ended.resolve()
    // Removed at the end: the signal would retain every consumer of a long outage.
    using _ = addAbortListener(closing, end)
    consumer.on(CRASH, ({ payload }) => {
      cursors.revoke()
      reportFailure(payload.error, 'the consumer crashed; starting another one')
      end()
    })
    consumer.on(REBALANCING, () => options.onRejoin?.())
    let otherUse: string | undefined
    // The group's leader assigns partitions of its topic to all members.
    consumer.on(RECEIVED_UNSUBSCRIBED_TOPICS, ({ payload }) => {
      otherUse = `the consumer group also reads topic ${payload.topicsNotSubscribed.join(', ')}: name another group, or end the program`
    })
    consumer.on(GROUP_JOIN, ({ payload }) => {
      failure = otherUse
      otherUse = undefined
      // kafkajs resolves a commit that a crash has interrupted.
      committed.clear()
      const assigned = (payload.memberAssignment[topic] ?? []) as Partition[]
      const others = assigned.filter((partition) => only?.has(partition) === false)
      if (others.length > 0) consumer.pause([{ topic, partitions: others }])
      cursors.assign(assigned.filter((partition) => !others.includes(partition)))
    })
    try {
      await consumer.connect()
      // The position until the first seek. The default would be the end of the log.
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: partitions,
        eachBatch,
      })
      await ended.promise
    } finally {
      cursors.revoke()
      await consumer.disconnect().catch(() => {})
    }
  }

  async function run(): Promise<void> {
    while (!closing.aborted) {
      const startedAt = time.now()
      await runConsumer().catch((error: unknown) => reportFailure(error, 'the log cannot be followed; retrying'))
      // A join alone is no success: a record that cannot be read crashes each new consumer right after its join.
      if (time.now() - startedAt > RESTART.longestMs) backOff.reset()
      await delay(time, backOff.nextMs(), closing)
    }
  }

  return {
    start(): void {
      running ??= run()
    },

    assigned: cursors.assigned,
    verified: cursors.verified,
    reloadCheckpoints: cursors.reloadCheckpoints,

    undecodable: cursors.undecodable,
    /** The other reasons why the log is not followed; empty when all partitions advance. */
    problems(): string[] {
      return [...(failure === undefined ? [] : [`kafka: ${failure}`]), ...throttling.problems(), ...cursors.problems()]
    },

    /**
     * The number of offsets between these checkpoints (the assigned partitions' unless given) and the known ends of the
     * log; undefined while a checkpoint is not known. The ends come from each fetch, `ends` and `updateEnds`.
     */
    lag(checkpoints = cursors.assigned()): number | undefined {
      if (checkpoints === undefined) return undefined
      let lag = 0
      for (const [partition, checkpoint] of checkpoints) {
        if (checkpoint === undefined) return undefined
        lag += Math.max(0, (knownEnds.get(partition) ?? FIRST) - after(checkpoint.offset))
      }
      return lag
    },

    /**
     * Reads the ends of the log. Throws a PreconditionError when the topic is another one or not as required. Call it
     * regularly while the log is idle: the follower notices such a change only when it fetches records.
     */
    ends,

    updateEnds,

    /** Stops fetching until `resume`. The follower remains a member of its group and is assigned partitions. */
    pause(): void {
      isPaused = true
      stopFetching([...(cursors.assigned()?.keys() ?? [])])
    },

    resume(): void {
      isPaused = false
      const resumed = [...(cursors.assigned()?.keys() ?? [])].filter((partition) => !pausedPartitions.has(partition))
      ofConsumer(() => consumer.resume([{ topic, partitions: resumed }]))
    },

    /** Commits the next offsets of partitions to the group. Kafka rejects a commit of a member that left the group. */
    commit,

    /** Commits what was read of each partition, and a batch that it cannot pass, for lag tools and the status. */
    async commitForLagTools(): Promise<void> {
      const undecodable = cursors.undecodable()
      const passed = [...(cursors.assigned() ?? [])].flatMap(([partition, checkpoint]) => {
        if (checkpoint === undefined) return []
        const metadata = undecodableMetadata(undecodable.find((one) => one.partition === partition)?.offset)
        const next = after(checkpoint.offset)
        const before = committed.get(partition) ?? { next: FIRST, metadata: '' }
        return next > before.next || metadata !== before.metadata ? [{ partition, next, metadata }] : []
      })
      if (passed.length === 0) return
      await commit(passed)
      for (const { partition, ...one } of passed) committed.set(partition, one)
    },

    async close(): Promise<void> {
      cursors.close()
      await running
    },
  }
}
