import { createServer, type Socket } from 'node:net'
import { type ExtendedConsumer, kafkajs, kafkajsModule } from '@plant-store/shared/kafka-client/kafkajs.ts'
import type { Cluster, Kafka } from 'kafkajs'
import { onTestFinished } from 'vitest'
import { listen } from './listen.ts'

const Encoder = kafkajsModule('src/protocol/encoder.js')
type Encoded = InstanceType<typeof Encoder>
const [FETCH, OFFSETS, METADATA, COORDINATOR, API_VERSIONS] = [1, 2, 3, 10, 18]
type ReceivedRequest = { apiKey: number; version: number }
export type Address = { nodeId: number; port: number }
/**
 * The knowledge of a broker of partition 0 of topic "plants". Partition 1 has no leader unless given. All brokers are
 * replicas.
 */
export type Knowledge = { leader: number; leaderEpoch: number; end: number; otherLeader?: number }
const [NO_LEADER, LEADER_NOT_AVAILABLE] = [-1, 5]

const encodePartition = (partition: number, { leader, leaderEpoch }: Omit<Knowledge, 'end'>, replicas: Address[]) =>
  new Encoder()
    .writeInt16(leader === NO_LEADER ? LEADER_NOT_AVAILABLE : 0)
    .writeInt32(partition)
    .writeInt32(leader)
    .writeInt32(leaderEpoch)
    .writeUVarIntArray(replicas.map(({ nodeId }) => new Encoder().writeInt32(nodeId)))
    .writeUVarIntArray([])
    .writeUVarIntArray([])
    .writeUVarInt(0)

const encodeTopic = (known: Knowledge, replicas: Address[]) =>
  new Encoder()
    .writeInt16(0)
    .writeUVarIntString('plants')
    .writeInt64(1)
    .writeInt64(1)
    .writeInt8(0)
    .writeUVarIntArray([
      encodePartition(0, known, replicas),
      encodePartition(1, { leader: known.otherLeader ?? NO_LEADER, leaderEpoch: 0 }, replicas),
    ])
    .writeInt32(0)
    .writeUVarInt(0)

export type Scripted = {
  /** The highest version of each request. */
  highest?: Record<number, number>
  /** True for the brokers in its metadata. */
  lists?(address: Address): boolean
  /** While it returns true for the key of a request, the broker does not respond, like one that hangs. */
  isSilent?(apiKey: number): boolean
  known?: Knowledge
}
type ScriptedBroker = Awaited<ReturnType<typeof openBroker>>

/** Opens the brokers 1, 2 and so on of a cluster. */
export async function openBrokers<B extends Scripted[]>(...all: B) {
  const addresses: Address[] = []
  const brokers = await Promise.all(all.map((each) => openBroker(each, addresses)))
  addresses.push(...brokers.map(({ port }, n) => ({ nodeId: n + 1, port })))
  return brokers as { [N in keyof B]: ScriptedBroker }
}

/**
 * The part of a broker that the tests need: it returns its versions, the metadata, the coordinator of a group, what it
 * takes for the end of the log, and empty fetches, and closes the connection on an unknown version.
 */
export async function openBroker(
  { highest = { [OFFSETS]: 2, [METADATA]: 10 }, lists = () => true, isSilent = () => false, known }: Scripted,
  addresses: readonly Address[] = [],
) {
  const cluster = () => addresses.filter(lists)
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
        .writeUVarIntArray(known === undefined ? [] : [encodeTopic(known, cluster())])
        .writeInt32(0)
        .writeUVarInt(0),
    [OFFSETS]: () =>
      new Encoder().writeInt32(0).writeArray([
        new Encoder().writeString('plants').writeArray([
          new Encoder()
            .writeInt32(0)
            .writeInt16(0)
            .writeInt64(-1)
            .writeInt64(known?.end ?? 0),
        ]),
      ]),
    [COORDINATOR]: () => new Encoder().writeInt16(0).writeInt32(1).writeString('127.0.0.1').writeInt32(1),
    [FETCH]: () => new Encoder().writeInt32(0).writeInt16(0).writeInt32(0).writeArray([]),
  }
  function respond(socket: Socket, frame: Buffer): void {
    const [apiKey, version] = [frame.readInt16BE(4), frame.readInt16BE(6)]
    requests.push({ apiKey, version })
    if (version > (highest[apiKey] ?? 2)) return void socket.destroy()
    if (isSilent(apiKey)) return
    const body = bodies[apiKey]?.().buffer as Buffer
    const header = Buffer.alloc(8)
    header.writeInt32BE(4 + body.length)
    header.writeInt32BE(frame.readInt32BE(8), 4)
    socket.write(Buffer.concat([header, body]).subarray(0, cutAfter))
    if (cutAfter !== undefined) socket.end()
    cutAfter = undefined
  }
  let cutAfter: number | undefined
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.on('data', (frames: Buffer) => {
      for (let at = 0; at < frames.length; at += 4 + frames.readInt32BE(at)) respond(socket, frames.subarray(at))
    })
  })
  const port = await listen(server)
  return {
    ...{ requests, port, address: `127.0.0.1:${port}` },
    connections: () => sockets.size,
    cut(): void {
      for (const socket of sockets) socket.destroy()
    },
    /** Sends so many bytes of its next response, and then ends the connection. */
    cutNextResponse(bytes: number): void {
      cutAfter = bytes
    },
  }
}

/** A consumer and its cluster, connected and with metadata. */
export async function openConsumer(kafka: Kafka) {
  const opened = Promise.withResolvers<Cluster>()
  const consumer = kafka.consumer({
    groupId: 'scripted',
    allowAutoTopicCreation: false,
    partitionAssigners: [
      (parts) => {
        opened.resolve(parts.cluster)
        return kafkajs.PartitionAssigners.roundRobin(parts)
      },
    ],
  }) as ExtendedConsumer
  onTestFinished(() => consumer.disconnect())
  const cluster = await opened.promise
  await cluster.connect()
  await cluster.refreshMetadata()
  return { consumer, cluster }
}

export async function fetchFrom(cluster: Cluster, nodeId: string): Promise<unknown> {
  const leader = (await cluster.findBroker({ nodeId })) as unknown as { fetch(options: object): Promise<unknown> }
  const partitions = [{ partition: 0, fetchOffset: '0', maxBytes: 1_024 }]
  return leader.fetch({ maxWaitTime: 100, isolationLevel: 1, topics: [{ topic: 'plants', partitions }] })
}
