import type { Kafka, Producer } from 'kafkajs'
import { kafkajs } from '../kafka-client/kafkajs.ts'
import type { NewRecord } from '../plant/plant-created.ts'

const ACKS_ALL = -1
const PRODUCE_TIMEOUT_MS = 5_000

export type Appender = ReturnType<typeof createAppender>

/**
 * Appends records to the topic. Callers keep one append in flight and put all that arrived meanwhile into
 * the next one: kafkajs retries and refreshes metadata for each send on its own, so that many at once
 * become a storm.
 */
export function createAppender(kafka: Kafka, topic: string) {
  // Not the idempotent producer: after a failed produce kafkajs 2.2.4 uses its sequence number again, the
  // broker takes the next events for duplicates, and they are acknowledged but never written. A
  // record written twice is harmless here, for its event id tells.
  const newProducer = () =>
    kafka.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      maxInFlightRequests: 1,
      // The caller tries again, and knows when nobody waits any more.
      retry: { retries: 0 },
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    })
  let producer = newProducer()
  let connected = false

  async function connect(): Promise<void> {
    await producer.connect()
    connected = true
  }

  // A producer that failed may never work again: after a request timeout kafkajs keeps the dead socket, and
  // one whose connecting failed says "Broker not connected" for ever. So the next append begins with a
  // new one; connecting it now would only fail, too, while the broker hangs.
  async function replace(failed: Producer): Promise<void> {
    producer = newProducer()
    connected = false
    await failed.disconnect()
  }

  return {
    connect,

    /**
     * Resolves when all in-sync replicas have the records. When it rejects, any of the records may or
     * may not be in the log.
     */
    async append(records: readonly NewRecord[]): Promise<void> {
      const used = producer
      try {
        if (!connected) await connect()
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
