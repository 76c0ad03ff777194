import { randomUUID } from 'node:crypto'
import type { Kafka, Producer, ProducerConfig } from 'kafkajs'
import { onTestFinished } from 'vitest'

/** A producer of another program, connected until the test ends. */
export async function openProducer(kafka: Kafka, options?: ProducerConfig): Promise<Producer> {
  const producer = kafka.producer(options)
  onTestFinished(() => producer.disconnect())
  await producer.connect()
  return producer
}

/** The same, with transactions. */
export const openTransactional = (kafka: Kafka): Promise<Producer> =>
  openProducer(kafka, { transactionalId: randomUUID(), maxInFlightRequests: 1, idempotent: true })
