import { connect, type Socket } from 'node:net'
import type { Kafka } from 'kafkajs'
import { createImpatientKafka } from './impatient-kafka.ts'

/** A client of a real Kafka whose connections can die as behind a dead router: nothing arrives, nothing is closed. */
export function createCuttableKafka(brokers: string): { kafka: Kafka; cut(): void } {
  const open = new Set<Socket>()
  const kafka = createImpatientKafka(brokers, {
    socketFactory({ host, port, onConnect }) {
      const socket = connect(port, host, onConnect)
      open.add(socket)
      socket.on('close', () => open.delete(socket))
      return socket
    },
  })
  return {
    kafka,
    cut() {
      for (const socket of open) socket.write = () => true
    },
  }
}
