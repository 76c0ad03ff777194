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

/** Longer than any test keeps a transaction open. */
const TRANSACTION_TIMEOUT_MS = 300_000

/** The same, with transactions. */
export const openTransactional = (kafka: Kafka): Promise<Producer> =>
  openProducer(kafka, {
    ...{ transactionalId: randomUUID(), transactionTimeout: TRANSACTION_TIMEOUT_MS },
    // A transaction waits for the markers of the one before.
    ...{ maxInFlightRequests: 1, idempotent: true, retry: { retries: 30 } },
  })
