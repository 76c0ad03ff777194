import kafkajs, { type Kafka, type Producer } from 'kafkajs'
import type { NewRecord } from '../plant/plant-created.ts'

const ACKS_ALL = -1
const PRODUCE_TIMEOUT_MS = 8_000

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
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    })
  let producer = newProducer()

  // After a request timeout kafkajs keeps the dead socket and its retries use it again.
  async function replace(dead: Producer): Promise<void> {
    producer = newProducer()
    await dead.disconnect().catch(() => {})
    await producer.connect()
  }

  return {
    async connect(): Promise<void> {
      await producer.connect()
    },

    /**
     * Resolves when all in-sync replicas have the records. When it rejects, any of the records may or
     * may not be in the log.
     */
    async append(records: readonly NewRecord[]): Promise<void> {
      const used = producer
      try {
        await used.sendBatch({
          acks: ACKS_ALL,
          timeout: PRODUCE_TIMEOUT_MS,
          topicMessages: [{ topic, messages: records as NewRecord[] }],
        })
      } catch (error) {
        if (isRequestTimeout(error)) await replace(used).catch(() => {})
        throw error
      }
    },

    async close(): Promise<void> {
      await producer.disconnect()
    },
  }
}

function isRequestTimeout(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'KafkaJSRequestTimeoutError') return true
  }
  return false
}
