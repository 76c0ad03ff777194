import { createServer, type Socket } from 'node:net'
import { type ExtendedConsumer, kafkajs, kafkajsModule } from '@plant-store/shared/kafka-client/kafkajs.ts'
import type { Cluster, Kafka } from 'kafkajs'
import { onTestFinished } from 'vitest'
import { listen } from './listen.ts'

const Encoder = kafkajsModule('src/protocol/encoder.js')
type Encoded = InstanceType<typeof Encoder>
const [FETCH, OFFSETS, METADATA, COORDINATOR, API_VERSIONS] = [1, 2, 3, 10, 18]
const [NO_LEADER, LEADER_NOT_AVAILABLE] = [-1, 5]

export type Address = { nodeId: number; port: number }
/**
 * The knowledge of a broker of partition 0 of topic "plants". Partition 1 has no leader unless given. All brokers are
 * replicas.
 */
export type Knowledge = { leader: number; leaderEpoch: number; end: number; otherLeader?: number }
export type Scripted = {
  /** The highest version of each request. */
  highest?: Record<number, number>
  /** True for the brokers in its metadata. */
  lists?(address: Address): boolean
  /** While it returns true for the key of a request, the broker does not respond, like one that hangs. */
  isSilent?(apiKey: number): boolean
  known?: Knowledge
}

const join = (...parts: Encoded[]): Encoded => parts.reduce((all, part) => all.writeEncoder(part), new Encoder())
const int8 = (value: number): Encoded => new Encoder().writeInt8(value)
const int16 = (value: number): Encoded => new Encoder().writeInt16(value)
const int32 = (value: number): Encoded => new Encoder().writeInt32(value)
const int64 = (value: number): Encoded => new Encoder().writeInt64(value)
const string = (value: string | null): Encoded => new Encoder().writeString(value)
const array = (items: Encoded[]): Encoded => new Encoder().writeArray(items)
const compactString = (value: string | null): Encoded => new Encoder().writeUVarIntString(value)
const compactArray = (items: Encoded[]): Encoded => new Encoder().writeUVarIntArray(items)
const NO_TAGS: Encoded = new Encoder().writeUVarInt(0)

function partitionOf(partition: number, leader: number, leaderEpoch: number, replicas: Address[]): Encoded {
  const errorCode = leader === NO_LEADER ? LEADER_NOT_AVAILABLE : 0
  const nodeIds = compactArray(replicas.map(({ nodeId }) => int32(nodeId)))
  const [isr, offline] = [compactArray([]), compactArray([])]
  return join(int16(errorCode), int32(partition), int32(leader), int32(leaderEpoch), nodeIds, isr, offline, NO_TAGS)
}

/** Encodes a response of version 10. */
function metadataOf(known: Knowledge | undefined, cluster: Address[]): Encoded {
  const brokers = cluster.map(({ nodeId, port }) =>
    join(int32(nodeId), compactString('127.0.0.1'), int32(port), compactString(null), NO_TAGS),
  )
  const topics: Encoded[] = []
  if (known !== undefined) {
    const { leader, leaderEpoch, otherLeader = NO_LEADER } = known
    const partitions = [partitionOf(0, leader, leaderEpoch, cluster), partitionOf(1, otherLeader, 0, cluster)]
    const id = join(int64(1), int64(1))
    const head = join(int16(0), compactString('plants'), id, int8(0))
    topics.push(join(head, compactArray(partitions), int32(0), NO_TAGS))
  }
  const head = join(NO_TAGS, int32(0), compactArray(brokers), compactString('cluster'), int32(1))
  return join(head, compactArray(topics), int32(0), NO_TAGS)
}

function versionsOf(highest: Record<number, number>): Encoded {
  const versions = Object.entries({ [API_VERSIONS]: 2, ...highest })
  return array(versions.map(([key, max]) => join(int16(Number(key)), int16(0), int16(max))))
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
  const requests: { apiKey: number; version: number }[] = []
  let cutAfter: number | undefined
  const end = join(int32(0), int16(0), int64(-1), int64(known?.end ?? 0))
  const bodies: Record<number, () => Encoded> = {
    [API_VERSIONS]: () => join(int16(0), versionsOf(highest), int32(0)),
    [METADATA]: () => metadataOf(known, addresses.filter(lists)),
    [OFFSETS]: () => join(int32(0), array([join(string('plants'), array([end]))])),
    [COORDINATOR]: () => join(int16(0), int32(1), string('127.0.0.1'), int32(1)),
    [FETCH]: () => join(int32(0), int16(0), int32(0), array([])),
  }
  function respond(socket: Socket, frame: Buffer): void {
    const [apiKey, version] = [frame.readInt16BE(4), frame.readInt16BE(6)]
    requests.push({ apiKey, version })
    if (version > (highest[apiKey] ?? 2)) return void socket.destroy()
    if (isSilent(apiKey)) return
    const response = join(int32(frame.readInt32BE(8)), (bodies[apiKey] as () => Encoded)())
    socket.write(join(int32(response.size()), response).buffer.subarray(0, cutAfter))
    if (cutAfter !== undefined) socket.end()
    cutAfter = undefined
  }
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
