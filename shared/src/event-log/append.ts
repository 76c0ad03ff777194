import type { Kafka, Producer } from 'kafkajs'
import { kafkajs } from '../kafka-client/kafkajs.ts'
import type { NewRecord } from '../plant/plant-created.ts'

const ACKS_ALL = -1
const PRODUCE_TIMEOUT_MS = 5_000

export type Appender = ReturnType<typeof createAppender>

/**
 * Appends records to the topic. Keep one append in flight, and put everything that arrives until its end into the next
 * one: kafkajs retries and refreshes metadata for each send separately, so many sends at once become a storm.
 */
export function createAppender(kafka: Kafka, topic: string) {
  // Not the idempotent producer: after a failed produce kafkajs 2.2.4 reuses the sequence number, the broker takes the
  // next events for duplicates, and they are acknowledged but never written. A record that is written twice is harmless
  // here: it has the same event id.
  const newProducer = () =>
    kafka.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      maxInFlightRequests: 1,
      // The caller retries; it knows when no client waits any more.
      retry: { retries: 0 },
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    })
  let producer = newProducer()
  let isConnected = false

  async function connect(): Promise<void> {
    await producer.connect()
    isConnected = true
  }

  // A producer that failed may never work again: after a request timeout kafkajs keeps the dead socket, and after a
  // failed connect it reports "Broker not connected" for ever. The next append connects the new one; to connect it now
  // would only fail, too, while the broker hangs.
  async function replace(failed: Producer): Promise<void> {
    producer = newProducer()
    isConnected = false
    await failed.disconnect()
  }

  return {
    connect,

    /** Resolves when all in-sync replicas have the records. When it rejects, any of the records may be in the log. */
    async append(records: readonly NewRecord[]): Promise<void> {
      const used = producer
      try {
        if (!isConnected) await connect()
        await used.sendBatch({
          acks: ACKS_ALL,
          timeout: PRODUCE_TIMEOUT_MS,
          topicMessages: [{ topic, messages: records as NewRecord[] }],
        })
      } catch (error) {
        await replace(used).catch(() => {})
        throw error
      }
    },

    async close(): Promise<void> {
      await producer.disconnect()
    },
  }
}
