import type { ConsumerStartBatchProcessEvent, EachBatchPayload, Kafka } from 'kafkajs'
import type { ConsumerById } from '../kafka-client/consumer-by-topic-id.ts'
import { assertSameTopic, type TopicId } from '../kafka-client/topic-id.ts'
import type { LogRecord, StoredRecord } from '../plant/plant-created.ts'
import { after, BEFORE_FIRST, type Offset, offsetOf, type Partition } from '../plant/position.ts'
import type { Delivery } from '../protocol/checkpoint.ts'
import { messageOf } from '../runtime/failures.ts'
import { createBackOff } from '../runtime/retry.ts'
import { delay } from '../runtime/time.ts'
import { createKnownEnds } from './known-ends.ts'
import type { LogEnds } from './log-ends.ts'
import {
  createPartitionCursors,
  type PartitionCursorsOptions,
  type RecordSink,
  SERVICE_REMEDY,
} from './partition-cursors.ts'
import { checkTopic, type TopicSettings } from './topic.ts'

/** A record as a fetch brings it, with the time that its producer or the broker gave it (since 1970). */
export type FetchedRecord = StoredRecord & { timestampMs: number }

export type FollowOptions<R extends LogRecord = LogRecord> = TopicSettings &
  RecordSink<R> &
  PartitionCursorsOptions & {
    kafka: Kafka
    /** Which topic it is to be; the first that is found, as far as brokers tell ids, where it is not known yet. */
    topicId?: TopicId | undefined
    /** What the sink is given of a record. */
    read(record: FetchedRecord, partition: Partition): R
    /** The partitions to follow; without it all that the group assigns. */
    only?: ReadonlySet<Partition>
    /**
     * The group to join, asked for each time a consumer begins. Members of one group share the partitions; a group
     * that nobody else is in gives them all, at once if it is a new one: another would first wait for the session
     * of the consumer before to run out.
     */
    groupId(): string
    /**
     * Tells which topic it is and the next offset to be written in each partition, or throws a PreconditionError when
     * the topic is not as it must be; without it `checkTopic` does.
     */
    ends?(): Promise<LogEnds>
    /** Called when the group is about to be joined again: what is committed now, the next assignments find. */
    onRejoin?(): void
    /** Kafka answers a fetch when so many bytes are there, or after the wait. */
    minBytes: number
    maxWaitMs: number
    /**
     * The next fetch waits until so long after the one before has brought something: while many write, each then brings
     * more, and who waits for it costs nothing while nobody writes. Without it none waits.
     */
    fetchEveryMs?: number
    /** How much one fetch brings at most, if its first batch is not larger. */
    maxBytes?: number
    /** How much of a partition one fetch brings at most, if its first batch is not larger. */
    maxBytesPerPartition?: number
  }

type Batch = EachBatchPayload['batch'] & { fetchedOffset: string }
type BatchTold = ConsumerStartBatchProcessEvent['payload']

const SESSION_TIMEOUT_MS = 6_000
const HEARTBEAT_MS = 2_000
/** How long the group waits for members to join again; without a limit of its own a close may wait a minute. */
const REBALANCE_TIMEOUT_MS = 10_000
const MAX_BYTES = 10 * 1_048_576
const MAX_BYTES_PER_PARTITION = 1_048_576
const RESTART = { firstMs: 250, longestMs: 5_000 }

export type Follower = ReturnType<typeof createFollower>

/**
 * Follows the committed records of a topic into an sink. kafkajs has no assign(): it joins a group, and where the
 * group thinks it stands means nothing here; cursors.ts has the rules. The topic that it finds first is the only one
 * that it reads: brokers are asked for it by its id, and one that takes its name halts it.
 */
export function createFollower<R extends LogRecord>(options: FollowOptions<R>) {
  const { kafka, topic, partitions, log, time, only, read, remedy = SERVICE_REMEDY } = options
  const askEnds = options.ends ?? (() => checkTopic(kafka, { topic, partitions }))
  let consumer: ConsumerById
  let { topicId } = options
  let running: Promise<void> | undefined
  /** What ended the consumer before this one; undefined once the group is joined. */
  let failure: string | undefined
  const backOff = createBackOff(RESTART)
  const committed = new Map<Partition, Offset>()
  const knownEnds = createKnownEnds()
  /** Those of which nothing is fetched until they are sought. */
  const unsought = new Set<Partition>()
  let isHeld = false
  const cursors = createPartitionCursors(options, { pause, seek, ends }, options)
  const { closing } = cursors

  function pause(partition: Partition): void {
    unsought.add(partition)
    stopFetching([partition])
  }

  function stopFetching(stopped: Partition[]): void {
    try {
      consumer.pause([{ topic, partitions: stopped }])
    } catch {
      // Between two runs of the consumer nothing is fetched anyway.
    }
  }

  function seek(partition: Partition, offset: Offset): void {
    unsought.delete(partition)
    try {
      consumer.seek({ topic, partition, offset: String(offset) })
      if (!isHeld) consumer.resume([{ topic, partitions: [partition] }])
    } catch {
      // Between two runs of the consumer there is nothing to seek; the next assignment seeks.
    }
  }

  async function ends(): Promise<Offset[]> {
    const found = await askEnds()
    assertSameTopic(topicId, found.topicId, remedy)
    topicId ??= found.topicId
    knownEnds.noteAll(found.ends)
    return found.ends
  }

  function deliveryOf(batch: Batch, partition: Partition): Delivery<R> {
    const end = offsetOf(batch.highWatermark)
    knownEnds.note(partition, end)
    return {
      requested: offsetOf(batch.fetchedOffset),
      last: offsetOf(batch.lastOffset()),
      end,
      records: batch.messages.map(({ offset, key, value, headers = {}, timestamp }) =>
        read({ offset: offsetOf(offset), key, value, headers, timestampMs: Number(timestamp) }, partition),
      ),
    }
  }

  /** kafkajs passes batches of nothing but control and aborted records by itself, and tells only so. */
  function takeNoRecords({ partition, firstOffset, lastOffset, highWatermark }: BatchTold): void {
    if (firstOffset === null) return
    const requested = offsetOf(firstOffset)
    const [last, end] = [offsetOf(lastOffset), offsetOf(highWatermark)]
    void cursors.deliver(partition as Partition, () => ({ requested, last, end, records: [] }))
  }

  async function eachBatch(payload: EachBatchPayload): Promise<void> {
    const { batch, resolveOffset, isRunning, isStale, heartbeat } = payload
    const partition = batch.partition as Partition
    const { fetchEveryMs } = options
    const nextFetch = fetchEveryMs === undefined ? undefined : delay(time, fetchEveryMs, closing)
    const delivered = cursors.deliver(partition, () =>
      isRunning() && !isStale() ? deliveryOf(batch as Batch, partition) : undefined,
    )
    const reached = await whileBeating(heartbeat, delivered)
    const last = offsetOf(batch.lastOffset())
    if (reached !== undefined && reached >= last) resolveOffset(String(last))
    // kafkajs fetches again when all that one fetch brought is done with.
    await nextFetch
  }

  /** kafkajs sends no heartbeat while a batch is taken in; a slow sink would be taken for a dead member. */
  function whileBeating<T>(heartbeat: () => Promise<void>, taking: Promise<T>): Promise<T> {
    let isTaken = false
    let takeBack = () => {}
    async function beat(): Promise<void> {
      // What it is refused for is told again to the next one, which kafkajs sends after the batch.
      await heartbeat().catch(() => {})
      if (!isTaken) beatLater()
    }
    function beatLater(): void {
      takeBack = time.after(HEARTBEAT_MS, () => void beat())
    }
    beatLater()
    return taking.finally(() => {
      isTaken = true
      takeBack()
    })
  }

  function note(error: unknown, text: string): void {
    failure = messageOf(error)
    log.warn({ err: error }, text)
  }

  /** One life of a consumer, from connecting to a crash. */
  async function live(): Promise<void> {
    consumer = kafka.consumer({
      groupId: options.groupId(),
      sessionTimeout: SESSION_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_MS,
      rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      minBytes: options.minBytes,
      maxWaitTimeInMs: options.maxWaitMs,
      maxBytes: options.maxBytes ?? MAX_BYTES,
      maxBytesPerPartition: options.maxBytesPerPartition ?? MAX_BYTES_PER_PARTITION,
      allowAutoTopicCreation: false,
      readUncommitted: false,
      // What crashed begins anew below, not by itself.
      retry: { restartOnFailure: async () => false },
    }) as ConsumerById
    consumer.fetchBy(() => topicId)
    const { GROUP_JOIN, REBALANCING, START_BATCH_PROCESS, CRASH } = consumer.events
    const ended = Promise.withResolvers<void>()
    const end = () => ended.resolve()
    closing.addEventListener('abort', end)
    consumer.on(CRASH, ({ payload }) => {
      cursors.revoke()
      note(payload.error, 'the consumer crashed; another one begins')
      end()
    })
    consumer.on(REBALANCING, () => options.onRejoin?.())
    consumer.on(GROUP_JOIN, ({ payload }) => {
      failure = undefined
      const assigned = (payload.memberAssignment[topic] ?? []) as Partition[]
      const others = assigned.filter((partition) => only?.has(partition) === false)
      if (others.length > 0) consumer.pause([{ topic, partitions: others }])
      cursors.assign(assigned.filter((partition) => !others.includes(partition)))
    })
    consumer.on(START_BATCH_PROCESS, ({ payload }) => {
      if (payload.batchSize === 0) takeNoRecords(payload)
    })
    try {
      await consumer.connect()
      // Always from the beginning: the other choice turns an offset out of range, silently, into the log's end.
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: partitions,
        eachBatch,
      })
      await ended.promise
    } finally {
      // Or all consumers of a long outage would be kept.
      closing.removeEventListener('abort', end)
      cursors.revoke()
      await consumer.disconnect().catch(() => {})
    }
  }

  async function run(): Promise<void> {
    while (!closing.aborted) {
      const beganAt = time.now()
      await live().catch((error: unknown) => note(error, 'the log can not be followed; trying again'))
      // Not because it joined: what it can't read ends the next one, too, as soon as that has joined.
      if (time.now() - beganAt > RESTART.longestMs) backOff.reset()
      await delay(time, backOff.nextMs(), closing)
    }
  }

  return {
    start(): void {
      running ??= run()
    },

    /** The partitions that this process follows now with their checkpoints; undefined before the group is joined. */
    assigned: cursors.assigned,
    proven: cursors.proven,
    reseek: cursors.reseek,

    /** Why the log is not followed now, in words; none when all partitions go on. */
    problems(): string[] {
      return [...(failure === undefined ? [] : [`kafka: ${failure}`]), ...cursors.problems()]
    },

    /**
     * How many offsets of the assigned partitions are in the log, as far as is known, and not passed yet; undefined
     * while it is not known what was passed. An sink that dealt with less than it took in tells what. Each fetch
     * that brings something tells where the log ends, and so does `noteEnds`.
     */
    lag: (passed = cursors.assigned()): number | undefined => passed && knownEnds.beyond(passed),

    /**
     * Asks where the log ends. Throws a PreconditionError when it is not the topic that is followed, or not as it must be: a
     * follower that stands still does not see that by itself.
     */
    ends,

    /** Takes in where the log's partitions end, as somebody else has asked for it. */
    noteEnds: knownEnds.noteAll,

    /** Has nothing fetched until `release`; it stays a member of its group, and is assigned partitions. */
    hold(): void {
      isHeld = true
      stopFetching([...(cursors.assigned()?.keys() ?? [])])
    },

    release(): void {
      isHeld = false
      const sought = [...(cursors.assigned()?.keys() ?? [])].filter((partition) => !unsought.has(partition))
      try {
        consumer.resume([{ topic, partitions: sought }])
      } catch {
        // Between two runs of the consumer nothing is fetched; the next assignment seeks.
      }
    },

    /** Stores the next offsets of partitions with the group. Kafka refuses it from a member that was left behind. */
    async commit(
      offsets: readonly { partition: Partition; next: Offset; metadata: string }[],
    ): Promise<void> {
      await consumer.commitOffsets(
        offsets.map(({ partition, next, metadata }) => ({
          topic,
          partition,
          offset: String(next),
          metadata,
        })),
      )
    },

    /** Tells the group how far each partition was read, if that changed. For lag tools only: nothing here reads it back. */
    async commitForLagTools(): Promise<void> {
      const passed = [...(cursors.assigned() ?? [])].flatMap(([partition, checkpoint]) =>
        checkpoint === undefined || checkpoint.offset <= (committed.get(partition) ?? BEFORE_FIRST)
          ? []
          : [{ partition, offset: checkpoint.offset }],
      )
      if (passed.length === 0) return
      await consumer.commitOffsets(
        passed.map(({ partition, offset }) => ({ topic, partition, offset: String(after(offset)) })),
      )
      for (const { partition, offset } of passed) committed.set(partition, offset)
    },

    async close(): Promise<void> {
      cursors.close()
      await running
    },
  }
}
