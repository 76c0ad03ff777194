import { connect, type Socket } from 'node:net'
import { expect, inject, it, vi } from 'vitest'
import { createTestTopic } from '../../../tests/support/topic.ts'
import { kafkajs } from './kafkajs.ts'

const PARTITIONS = 2
const LOCAL = /localhost|127\.0\.0\.1/
const CLOSED_WITHIN = { timeout: 10_000, interval: 20 }

/**
 * A client that reports its sockets: each one when it begins to connect, and when it is connected. It knows the broker
 * by another name than the metadata have, so the leader gets a separate connection.
 */
function openClient(onSocket: () => void) {
  const sockets: Socket[] = []
  const kafka = new kafkajs.Kafka({
    brokers: [inject('kafkaBrokers').replace(LOCAL, (name) => (name === 'localhost' ? '127.0.0.1' : 'localhost'))],
    enforceRequestTimeout: true,
    logLevel: kafkajs.logLevel.NOTHING,
    socketFactory: ({ host, port, onConnect }) => {
      const socket = connect({ host, port }, () => {
        onConnect()
        onSocket()
      })
      sockets.push(socket)
      onSocket()
      return socket
    },
  })
  return { kafka, open: () => sockets.filter(({ closed }) => !closed) }
}

/** Runs a request, and disconnects at the nth event of a socket. Returns whether there were as many events. */
async function disconnectAt(nth: number, topic: string): Promise<boolean> {
  let events = 0
  const disconnected = Promise.withResolvers<void>()
  const { kafka, open } = openClient(() => {
    if (++events === nth) admin.disconnect().then(disconnected.resolve, disconnected.reject)
  })
  const admin = kafka.admin()
  const request = admin.connect().then(() => admin.fetchTopicOffsets(topic))
  const isBefore = await Promise.race([disconnected.promise.then(() => true), request.then(() => false)])
  if (!isBefore) await admin.disconnect()
  await request.catch(() => {})
  await vi.waitFor(() => expect(open(), `after event ${nth}`).toHaveLength(0), CLOSED_WITHIN)
  return isBefore
}

it('a client that is disconnected while it connects leaves no connection open', async () => {
  const { topic } = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
  let nth = 1
  while (await disconnectAt(nth, topic)) nth++
  // One socket for the list of brokers, and one for the leader, with two events each; more after a time-out.
  expect(nth).toBeGreaterThanOrEqual(5)
})
