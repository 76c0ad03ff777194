import type { Kafka, RecordMetadata } from 'kafkajs'
import { kafkajs } from '../kafka-client/kafkajs.ts'
import type { ProducerByTopicId, TopicId } from '../kafka-client/topic-ids.ts'
import type { NewRecord } from '../plant/plant-created.ts'
import { type Offset, offsetOf, type Partition } from '../plant/position.ts'
import { isProduceRefused, refusalOf } from './broker-errors.ts'

const ACKS_ALL = -1
const PRODUCE_TIMEOUT_MS = 5_000

export type Appender = ReturnType<typeof createAppender>

/**
 * The offset of an append's first record in each partition; its other records of the partition follow without a gap.
 * Undefined when the topic id is not known or the broker is older than Kafka 4.1: the append is by the topic's name,
 * and the topic may have been recreated.
 */
export type BaseOffsets = ReadonlyMap<Partition, Offset> | undefined

type Acknowledgement = RecordMetadata & { topicId?: TopicId }

/** Kafka refuses the user, and certainly nothing of this append was written. The message says what to correct. */
export class AppendRefused extends Error {
  override name = 'AppendRefused'
}

/**
 * Appends records to the topic. Keep one append in flight, and put everything that arrives until its end into the next
 * one: kafkajs retries and refreshes metadata for each send separately, so many sends at once become a storm. With a
 * `topicId`, brokers since Kafka 4.1 append to no other topic of the same name.
 */
export function createAppender(kafka: Kafka, topic: string, topicId?: TopicId) {
  // Not the idempotent producer: after a failed produce kafkajs 2.2.4 reuses the sequence number, the broker takes the
  // next events for duplicates, and they are acknowledged but never written. A record that is written twice is harmless
  // here: it has the same event id.
  function newProducer(): ProducerByTopicId {
    const created = kafka.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      maxInFlightRequests: 1,
      // The caller retries; it knows when no client waits any more.
      retry: { retries: 0 },
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    }) as ProducerByTopicId
    created.byTopicId(() => topicId)
    return created
  }
  let producer = newProducer()
  let isConnected = false

  async function connectProducer(): Promise<void> {
    await producer.connect()
    isConnected = true
  }

  // A producer that failed may never work again: after a request timeout kafkajs keeps the dead socket, and after a
  // failed connect it reports "Broker not connected" for ever. The next append connects the new one; to connect it now
  // would only fail, too, while the broker hangs.
  async function replace(failed: ProducerByTopicId): Promise<void> {
    producer = newProducer()
    isConnected = false
    await failed.disconnect().catch(() => {})
  }

  return {
    /** Connects, so that the first append need not. Never rejects: after a failure the next append connects. */
    async connect(): Promise<void> {
      const used = producer
      await connectProducer().catch(() => replace(used))
    },

    /**
     * Resolves when all in-sync replicas have the records. Rejects with an AppendRefused when certainly none of them
     * was written; after any other error, any of them may be in the log.
     */
    async append(records: readonly NewRecord[]): Promise<BaseOffsets> {
      const used = producer
      void used.takeProduceRequests()
      try {
        if (!isConnected) await connectProducer()
        const acknowledged = await used.sendBatch({
          acks: ACKS_ALL,
          timeout: PRODUCE_TIMEOUT_MS,
          topicMessages: [{ topic, messages: records as NewRecord[] }],
        })
        return baseOffsetsOf(acknowledged)
      } catch (error) {
        const refusal = refusalOf(error, { topic })
        const isRefused = refusal !== undefined && (await areAllRefused(used.takeProduceRequests()))
        await replace(used)
        throw isRefused ? new AppendRefused(refusal) : error
      }
    },

    async close(): Promise<void> {
      await producer.disconnect()
    },
  }
}

/** Well below the 1 MiB that Kafka accepts unless `max.message.bytes` is lower; kafkajs does not split a batch. */
export const MAX_APPEND_BYTES = 512 * 1_024
const RECORD_OVERHEAD_BYTES = 200

/** About what a record takes in an append. */
export function bytesOf({ key, value }: NewRecord): number {
  return RECORD_OVERHEAD_BYTES + key.length + value.length
}

/** Splits records into appends that a broker accepts, in their order. */
export function appendsOf(records: readonly NewRecord[], maxBytes = MAX_APPEND_BYTES): NewRecord[][] {
  const appends: NewRecord[][] = []
  let bytes = maxBytes
  for (const record of records) {
    bytes += bytesOf(record)
    if (bytes > maxBytes) {
      appends.push([])
      bytes = bytesOf(record)
    }
    appends.at(-1)?.push(record)
  }
  return appends
}

/** kafkajs rejects with the first error of several brokers, while the requests to the others are in flight. */
async function areAllRefused(requests: readonly Promise<unknown>[]): Promise<boolean> {
  const ends = await Promise.allSettled(requests)
  return ends.every((end) => end.status === 'rejected' && isProduceRefused(end.reason))
}

function baseOffsetsOf(acknowledged: readonly Acknowledgement[]): BaseOffsets {
  if (!acknowledged.every((each) => each.topicId !== undefined)) return undefined
  return new Map(acknowledged.map(({ partition, baseOffset = '' }) => [partition as Partition, offsetOf(baseOffset)]))
}
