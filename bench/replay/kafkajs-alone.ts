import { randomUUID } from 'node:crypto'
import { Kafka, logLevel } from 'kafkajs'
import type { Reader } from './readers.ts'

/** A plain kafkajs consumer that does nothing, without the corrections of this project. */
export const readByKafkajsAlone: Reader = async (reading, { onStart, count, fail }) => {
  const { kafkaBrokers, topic, partitions, fetchLimits } = reading
  const kafka = new Kafka({ brokers: kafkaBrokers.split(','), logLevel: logLevel.NOTHING })
  const consumer = kafka.consumer({ groupId: `bench-${randomUUID()}`, ...fetchLimits })
  consumer.on(consumer.events.GROUP_JOIN, onStart)
  // kafkajs restarts the consumer itself after a retriable error.
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) fail(payload.error)
  })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    partitionsConsumedConcurrently: partitions,
    eachBatch: async ({ batch }) => count(batch.messages.length),
  })
  return consumer.disconnect
}
