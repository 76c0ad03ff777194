import { connect, type Socket } from 'node:net'
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

/**
 * A client of a real Kafka whose connections can die as behind a dead router: nothing arrives, nothing is closed. `cut`
 * resolves when the first bytes are lost.
 */
export function createCuttableKafka(brokers: string): { kafka: Kafka; cut(): Promise<void> } {
  const open = new Set<Socket>()
  const kafka = createImpatientKafka(brokers, {
    ...{ requestTimeout: 5_000, connectionTimeout: 5_000 },
    socketFactory({ host, port, onConnect }) {
      const socket = connect(port, host, onConnect)
      open.add(socket)
      socket.on('close', () => open.delete(socket))
      return socket
    },
  })
  return {
    kafka,
    cut: () =>
      new Promise((lost) => {
        for (const socket of open) {
          socket.write = () => {
            lost()
            return true
          }
        }
      }),
  }
}
