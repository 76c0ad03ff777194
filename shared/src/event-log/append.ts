import type { Kafka } from 'kafkajs'
import { type ExtendedProducer, kafkajs, kafkajsModule } from '../kafka-client/kafkajs.ts'
import { type Channel, NotSent, type Produced } from '../kafka-client/leader-producer.ts'
import type { TopicId } from '../kafka-client/topic-id.ts'
import { errorKnownToKafkajs } from '../kafka-client/topic-ids.ts'
import type { NewRecord } from '../plant/plant-created.ts'
import { type Offset, offsetOf, type Partition } from '../plant/position.ts'
import { singleFlight } from '../runtime/single-flight.ts'
import { AppendRefused, type RefusalKind, refusalOf, refusedAppend, tokenProblemOf } from './broker-errors.ts'
import { throttledAppends } from './throttling.ts'

const ACKS_ALL = -1
/** Less than the time limit of a request, so that the response reports which partitions are acknowledged. */
const PRODUCE_TIMEOUT_MS = 4_000
const UNREACHABLE = 'Kafka cannot be reached: check that the brokers run and KAFKA_BROKERS'

const { createErrorFromCode } = kafkajsModule('src/protocol/error.js')

export type Appender = ReturnType<typeof createAppender>

export type Refusal = { is: 'refused'; why: RefusalKind; cause: AppendRefused }

const NO_LEADER: Refusal = {
  ...{ is: 'refused', why: 'transient' },
  cause: new AppendRefused('the partition has no known leader: check that the brokers run'),
}

/** The result of one attempt for the records of one partition. */
export type AppendResult =
  /**
   * All in-sync replicas have the records. `base` is the offset of the first one; the others follow without a gap.
   * Undefined when the topic id is not known or the broker is older than Kafka 4.1: the append is by the topic's name,
   * and the topic may have been recreated.
   */
  | { is: 'appended'; base: Offset | undefined }
  /** Certainly nothing of this attempt was written. */
  | Refusal
  /** Any of the records may be in the log, now or a moment later. */
  | { is: 'unknown'; cause: Error }

/**
 * Appends records to the topic. With a `topicId`, brokers since Kafka 4.1 append to no other topic of the same name.
 * Each broker has separate connections: a failure of one affects no other.
 */
export function createAppender(kafka: Kafka, topic: string, topicId?: TopicId) {
  // Not the idempotent producer: after a failed produce kafkajs 2.2.4 reuses the sequence number, the broker takes the
  // next events for duplicates, and they are acknowledged but never written. A record that is written twice is harmless
  // here: it has the same event id.
  const producer = kafka.producer({
    idempotent: false,
    allowAutoTopicCreation: false,
    maxInFlightRequests: 1,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  }) as ExtendedProducer
  const leaders = producer.leadersOf(topic)
  /** The reason why the newest request of metadata failed; undefined after a success. */
  let problem: Refusal | undefined
  let mayBeStale = false

  const refreshLeaders = singleFlight(async () => {
    try {
      await leaders.refresh()
      problem = undefined
      mayBeStale = false
    } catch (error) {
      problem = notSent(error)
    }
  })

  function notSent(cause: unknown): Refusal {
    const refusal = refusalOf(cause, { topic })
    return {
      is: 'refused',
      why: refusal === undefined ? 'transient' : 'permanent',
      cause: new AppendRefused(refusal ?? tokenProblemOf(cause) ?? UNREACHABLE, { cause }),
    }
  }

  const leaderOf = (partition: Partition) => leaders.leaderOf(partition)
  const noLeader = (): Refusal => problem ?? NO_LEADER

  async function send(
    leader: number,
    channel: Channel,
    batches: ReadonlyMap<Partition, readonly NewRecord[]>,
    signal?: AbortSignal,
  ): Promise<Map<Partition, AppendResult>> {
    const partitions = [...batches].map(([partition, messages]) => ({ partition, messages }))
    const call = { acks: ACKS_ALL, timeout: PRODUCE_TIMEOUT_MS, topicId, partitions }
    try {
      const produced = await leaders.produce(leader, channel, call, signal)
      const results = new Map(produced.map((each) => [each.partition as Partition, resultOf(each, topic)]))
      const missing: AppendResult = { is: 'unknown', cause: new Error('the response does not name the partition') }
      return new Map([...batches.keys()].map((partition) => [partition, results.get(partition) ?? missing]))
    } catch (error) {
      const result: AppendResult =
        error instanceof NotSent ? notSent(error.cause) : { is: 'unknown', cause: error as Error }
      return new Map([...batches.keys()].map((partition) => [partition, result]))
    }
  }

  /**
   * Appends records to all their partitions. Never rejects. Resolves with the failure of each partition that has not
   * acknowledged; any of its records may then be in the log. Appends of one channel to a leader wait for each other.
   */
  async function appendEach(records: readonly NewRecord[], channel: Channel): Promise<Map<Partition, Error>> {
    const batches = Map.groupBy(records, ({ partition }) => partition)
    if (mayBeStale || [...batches.keys()].some((partition) => leaderOf(partition) === undefined)) await refreshLeaders()
    const sends = [...Map.groupBy(batches, ([partition]) => leaderOf(partition))].map(async ([leader, ofLeader]) => {
      if (leader === undefined) return ofLeader.map(([partition]) => [partition, noLeader()] as const)
      return [...(await send(leader, channel, new Map(ofLeader)))]
    })
    const failures = new Map<Partition, Error>()
    for (const [partition, result] of (await Promise.all(sends)).flat())
      if (result.is !== 'appended') failures.set(partition, result.cause)
    mayBeStale ||= failures.size > 0
    return failures
  }

  return {
    /** Connects, so that the first append need not. Never rejects: after a failure the next append connects. */
    async connect(): Promise<void> {
      await refreshLeaders()
      await leaders.connect('healthy')
    },

    /** The node id of the broker that leads the partition by the newest metadata; undefined if none is known. */
    leaderOf,

    /** The reason why no leader is known, by the newest request of metadata. */
    noLeader,

    /** Requests metadata. All callers share one request. Never rejects: `noLeader` says why it failed. */
    refreshLeaders,

    /** Resolves with true if the broker responds over this channel: it is not frozen. Never rejects. */
    responds: leaders.responds,

    /** The quota of Kafka that delays appends, with the remedy; empty when none does. */
    throttling: () => throttledAppends(leaders.longestHoldMs()),

    /** The time for which a quota of Kafka delays the next request of this connection, in ms. */
    heldBackMs: leaders.heldBackMs,

    /**
     * Sends records to a leader, in one request over the connection of the channel. Never rejects. Ends within the time
     * limits of a connection and of a request; when `signal` aborts, at once. The connection is then dropped, and with
     * it what else waits for a response there.
     */
    send,

    appendEach,

    /** Resolves when all in-sync replicas have the records. Rejects with the failure of one partition. */
    async append(records: readonly NewRecord[]): Promise<void> {
      const [failure] = (await appendEach(records, 'healthy')).values()
      if (failure !== undefined) throw failure
    },

    close: () => leaders.disconnect(),
  }
}

function resultOf(produced: Produced, topic: string): AppendResult {
  const { errorCode, baseOffset, topicId } = produced
  if (errorCode === 0) return { is: 'appended', base: topicId === undefined ? undefined : offsetOf(baseOffset) }
  const cause = createErrorFromCode(errorKnownToKafkajs(errorCode))
  const refused = refusedAppend(produced, topic)
  if (refused === undefined) return { is: 'unknown', cause }
  const [why, text] = refused
  return { is: 'refused', why, cause: new AppendRefused(text, { cause }) }
}

/** Well below the 1 MiB that Kafka accepts unless `max.message.bytes` is lower; kafkajs does not split a batch. */
export const MAX_APPEND_BYTES = 512 * 1_024
const RECORD_OVERHEAD_BYTES = 200

/** About what a record takes in an append. */
export function bytesOf({ key, value }: NewRecord): number {
  return RECORD_OVERHEAD_BYTES + key.length + value.length
}

/** Splits records into appends that a broker accepts, in their order. */
export function appendsOf<R extends NewRecord>(records: readonly R[]): R[][] {
  const appends: R[][] = []
  let bytes = MAX_APPEND_BYTES
  for (const record of records) {
    bytes += bytesOf(record)
    if (bytes > MAX_APPEND_BYTES) {
      appends.push([])
      bytes = bytesOf(record)
    }
    appends.at(-1)?.push(record)
  }
  return appends
}
