import { connect, createServer, type Socket } from 'node:net'
import type { Kafka } from 'kafkajs'
import { inject, onTestFinished } from 'vitest'
import { createImpatientKafka } from './impatient-kafka.ts'
import { listen } from './listen.ts'

/**
 * The fate of a request. The broker handles it, and its response is lost: with the connection, or without a word, as
 * are all later ones of its connection. Or the network delays the request until the broker has responded to the next
 * one of its kind.
 */
export type Fate = 'loses the connection' | 'has no response' | 'arrives after its repetition'

/**
 * A client of the Kafka under test, whose connections lead through a proxy; it ends with the test. A request without a
 * response fails after `requestTimeoutMs`.
 */
export async function openKafkaProxy({ requestTimeoutMs = 1_000 } = {}) {
  const [host, port] = inject('kafkaBrokers').split(':')
  const brokers = new Set<Socket>()
  const suffered = Promise.withResolvers<void>()
  let next: { apiKey: number; fate: Fate } | undefined
  let late: { apiKey: number; deliver(): void } | undefined

  function carry(client: Socket): void {
    const broker = connect(Number(port), host)
    const apiKeys = new Map<number, number>()
    const spoiled = new Map<number, Fate>()
    brokers.add(broker)
    for (const socket of [client, broker]) socket.on('error', () => {})
    // Until the test ends, the broker handles what was spoiled, also if the client gives up before.
    client.on('close', () => spoiled.size > 0 || broker.destroy())
    broker.on('close', () => client.destroy())

    onFrame(client, (frame) => {
      const [apiKey, id] = [frame.readInt16BE(4), frame.readInt32BE(8)]
      apiKeys.set(id, apiKey)
      if (next?.apiKey !== apiKey) return void broker.write(frame)
      const { fate } = next
      next = undefined
      spoiled.set(id, fate)
      if (fate !== 'arrives after its repetition') return void broker.write(frame)
      late = { apiKey, deliver: () => broker.write(frame) }
    })

    onFrame(broker, (frame) => {
      const id = frame.readInt32BE(4)
      const fate = spoiled.get(id)
      if (fate === 'loses the connection') client.destroy()
      if (fate !== undefined) return suffered.resolve()
      if ([...spoiled.values()].includes('has no response')) return
      client.write(frame)
      if (apiKeys.get(id) !== late?.apiKey) return
      late?.deliver()
      late = undefined
    })
  }

  const own = await listen(createServer(carry))
  onTestFinished(() => {
    for (const broker of brokers) broker.destroy()
  })
  const kafka: Kafka = createImpatientKafka(inject('kafkaBrokers'), {
    requestTimeout: requestTimeoutMs,
    socketFactory: ({ onConnect }) => connect(own, '127.0.0.1', onConnect),
  })
  return {
    kafka,

    /** Decides the fate of the next request of this kind. Resolves when the broker has handled it. */
    spoilNext(apiKey: number, fate: Fate): Promise<void> {
      next = { apiKey, fate }
      return suffered.promise
    },
  }
}

/** Calls back with each whole request or response, its size in front. */
function onFrame(socket: Socket, callBack: (frame: Buffer) => void): void {
  let bytes = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) {
      const end = 4 + bytes.readInt32BE(0)
      callBack(bytes.subarray(0, end))
      bytes = bytes.subarray(end)
    }
  })
}
