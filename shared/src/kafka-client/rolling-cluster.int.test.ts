import { createServer, type Socket } from 'node:net'
import type { Cluster } from 'kafkajs'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { kafkajs, kafkajsModule } from './kafkajs.ts'
import type { ConsumerByTopicId, TopicId } from './topic-ids.ts'

const Encoder = kafkajsModule('src/protocol/encoder.js')
type Encoded = InstanceType<typeof Encoder>
const [FETCH, METADATA, API_VERSIONS] = [1, 3, 18]
type ReceivedRequest = { apiKey: number; version: number }
type Address = { nodeId: number; port: number }

/**
 * The part of a broker that the test needs: it returns its versions and the metadata, and closes the connection on an
 * unknown version.
 */
async function openBroker(highest: Record<number, number>, cluster: () => Address[]) {
  const requests: ReceivedRequest[] = []
  const bodies: Record<number, () => Encoded> = {
    [API_VERSIONS]: () =>
      new Encoder()
        .writeInt16(0)
        .writeArray(
          Object.entries({ [API_VERSIONS]: 2, ...highest }).map(([key, max]) =>
            new Encoder().writeInt16(Number(key)).writeInt16(0).writeInt16(max),
          ),
        )
        .writeInt32(0),
    [METADATA]: () =>
      new Encoder()
        .writeUVarInt(0)
        .writeInt32(0)
        .writeUVarIntArray(
          cluster().map(({ nodeId, port }) =>
            new Encoder()
              .writeInt32(nodeId)
              .writeUVarIntString('127.0.0.1')
              .writeInt32(port)
              .writeUVarIntString(null)
              .writeUVarInt(0),
          ),
        )
        .writeUVarIntString('cluster')
        .writeInt32(1)
        .writeUVarIntArray([])
        .writeInt32(0)
        .writeUVarInt(0),
    [FETCH]: () => new Encoder().writeInt32(0).writeInt16(0).writeInt32(0).writeArray([]),
  }
  function respond(socket: Socket, frame: Buffer): void {
    const [apiKey, version] = [frame.readInt16BE(4), frame.readInt16BE(6)]
    requests.push({ apiKey, version })
    if (version > (highest[apiKey] ?? 2)) return void socket.destroy()
    const body = bodies[apiKey]?.().buffer as Buffer
    const header = Buffer.alloc(8)
    header.writeInt32BE(4 + body.length)
    header.writeInt32BE(frame.readInt32BE(8), 4)
    socket.write(Buffer.concat([header, body]))
  }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (frame: Buffer) => respond(socket, frame))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  return {
    requests,
    port: (server.address() as { port: number }).port,
    cut(): void {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** The cluster of a consumer of the corrected kafkajs. */
async function connectCluster(port: number): Promise<Cluster> {
  const kafka = new kafkajs.Kafka({
    brokers: [`127.0.0.1:${port}`],
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { retries: 0 },
  })
  const opened = Promise.withResolvers<Cluster>()
  const consumer = kafka.consumer({
    groupId: 'rolling',
    partitionAssigners: [
      (parts) => {
        opened.resolve(parts.cluster)
        return kafkajs.PartitionAssigners.roundRobin(parts)
      },
    ],
  }) as ConsumerByTopicId
  onTestFinished(() => consumer.disconnect())
  consumer.byTopicId(() => 'AAAAAAAAAAAAAAAAAAAAAQ' as TopicId)
  const cluster = await opened.promise
  await cluster.connect()
  await cluster.refreshMetadata()
  return cluster
}

const fetchFrom = async (cluster: Cluster, nodeId: string): Promise<unknown> => {
  const leader = (await cluster.findBroker({ nodeId })) as unknown as { fetch(options: object): Promise<unknown> }
  const partitions = [{ partition: 0, fetchOffset: '0', maxBytes: 1_024 }]
  return leader.fetch({ maxWaitTime: 100, isolationLevel: 1, topics: [{ topic: 'plants', partitions }] })
}

it('a leader that is not upgraded yet gets requests of a version that it supports', async () => {
  const addresses: Address[] = []
  const upgraded = await openBroker({ [FETCH]: 13, [METADATA]: 10 }, () => addresses)
  const old = await openBroker({ [FETCH]: 12, [METADATA]: 10 }, () => addresses)
  addresses.push({ nodeId: 1, port: upgraded.port }, { nodeId: 2, port: old.port })

  const cluster = await connectCluster(upgraded.port)
  const failure = await fetchFrom(cluster, '2').catch((error: unknown) => error)
  expect(old.requests.filter(({ apiKey }) => apiKey === FETCH)).toEqual([{ apiKey: FETCH, version: 11 }])
  expect(failure).not.toBeInstanceOf(Error)
})

it('asks a broker again for its versions after it was upgraded at the same address', async () => {
  const addresses: Address[] = []
  const highest = { [FETCH]: 12, [METADATA]: 10 }
  const broker = await openBroker(highest, () => addresses)
  addresses.push({ nodeId: 1, port: broker.port })
  const cluster = await connectCluster(broker.port)
  await fetchFrom(cluster, '1')
  highest[FETCH] = 13
  broker.cut()
  await eventually(() => expect(cluster.isConnected()).toBe(false))
  // The broker of this test does not know the response.
  await fetchFrom(cluster, '1').catch(() => {})
  const versions = broker.requests.filter(({ apiKey }) => apiKey === FETCH).map(({ version }) => version)
  expect(versions).toEqual([11, 13])
})
