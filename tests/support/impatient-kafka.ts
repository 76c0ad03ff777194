import { kafkajs } from '@plant-store/shared/kafka-client/kafkajs.ts'
import type { Kafka, KafkaConfig } from 'kafkajs'

/** A client with shorter timeouts than the product's, for faults that last. */
export function createImpatientKafka(brokers: string, options: Partial<KafkaConfig> = {}): Kafka {
  return new kafkajs.Kafka({
    brokers: [brokers],
    requestTimeout: 500,
    connectionTimeout: 500,
    retry: { retries: 1, initialRetryTime: 100 },
    logLevel: kafkajs.logLevel.NOTHING,
    ...options,
  })
}
