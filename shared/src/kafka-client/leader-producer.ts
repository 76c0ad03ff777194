import { addAbortListener } from 'node:events'
import { singleFlight } from '../runtime/single-flight.ts'
import { dropAll } from './connections.ts'
import type { Address, Broker, Cluster, Partition, RequestDefinition } from './kafkajs-parts.ts'
import { askReplicas } from './newest-leaders.ts'
import type { ProduceOptions } from './produce-request.ts'
import type { TopicId } from './topic-id.ts'

/** Names a connection to a broker. A broker handles the requests of one connection one after the other. */
export type Channel = 'healthy' | 'suspect'

/** The result of one partition of a produce request. `baseOffset` is -1 unless the leader has written the records. */
export type Produced = { partition: number; errorCode: number; baseOffset: string; topicId?: TopicId }
/** Brokers before Kafka 2.0 delay their response instead. */
type ProduceResponse = { clientSideThrottleTime?: number; topics: readonly { partitions: readonly Produced[] }[] }
/** `topicId` is undefined for a request by the name of the topic. */
export type ProduceCall = Omit<ProduceOptions, 'topicData'> & { topicId: TopicId | undefined } & Pick<
    ProduceOptions['topicData'][number],
    'partitions'
  >

/** A request that was certainly not sent; the cause says why. */
export class NotSent extends Error {
  override name = 'NotSent'
}

const PRODUCE = 0
/** Short delays follow each other, with times in between. */
const HOLD_KEPT_MS = 5_000

const keyOf = (leader: number, channel: Channel) => `${leader} ${channel}`

/** Produces to the leaders of one topic, over separate connections. */
export type LeaderProducer = ReturnType<typeof createLeaderProducer>

export type ProduceDefinition = RequestDefinition<ProduceOptions>

/**
 * kafkajs's own producer sends to all leaders at once and rejects with the first error of a partition: the outcome of
 * the others is lost. This one reports each partition of each request. Its metadata requests have separate connections:
 * a produce request may occupy its connection until it times out.
 */
export function createLeaderProducer(cluster: Cluster, definition: ProduceDefinition, topic: string) {
  const { brokerPool } = cluster
  cluster.targetTopics.add(topic)
  const channels = new Map<string, { address: Address; broker: Promise<Broker> }>()
  /** The partitions in the metadata: what other replicas know of newer leaders is found here at once. */
  let partitions = new Map<number, Partition>()
  /** The newest delay by a quota of Kafka of the next request, by connection. */
  const holds = new Map<string, { ms: number; until: number }>()

  const addressOf = (leader: number) => brokerPool.metadata?.brokers.find(({ nodeId }) => nodeId === leader)

  const askOthers = singleFlight(async () => {
    if (brokerPool.metadata !== null) await askReplicas(brokerPool, brokerPool.metadata)
  })

  /** The broker at its newest address, with a connection for this channel alone. */
  function brokerOf(leader: number, channel: Channel): Promise<Broker> {
    const address = addressOf(leader)
    if (address === undefined) throw new Error(`broker ${leader} is not in the metadata`)
    const key = keyOf(leader, channel)
    const known = channels.get(key)
    if (known?.address.host === address.host && known.address.port === address.port) return known.broker
    void known?.broker.then((broker) => broker.disconnect())
    const broker = cluster.connectionPoolBuilder
      .build(address)
      .then((connectionPool) =>
        brokerPool.createBroker({ connectionPool, nodeId: leader, logger: brokerPool.rootLogger }),
      )
    channels.set(key, { address, broker })
    return broker
  }

  /**
   * Sends one produce request over the connection of the channel. Rejects with NotSent when the request was certainly
   * not sent; after any other error, the broker may have received it.
   */
  async function produce(leader: number, channel: Channel, call: ProduceCall, signal?: AbortSignal) {
    let isSent = false
    try {
      const broker = await brokerOf(leader, channel)
      signal?.throwIfAborted()
      using _listener = signal && addAbortListener(signal, () => dropAll(broker.connectionPool, signal.reason))
      await broker.connect()
      const { partitions, topicId, ...options } = call
      const build = broker.lookupRequest(PRODUCE, definition)
      const { request, response } = build({ ...options, topicData: [{ topic, topicId, partitions }] })
      const encode = async () => {
        const encoded = await request.encode()
        signal?.throwIfAborted()
        isSent = true
        return encoded
      }
      const produced = (await broker.connectionPool.send({
        request: { ...request, encode },
        // That of kafkajs rejects with the first error of a partition.
        response: { ...response, parse: async (decoded) => decoded },
      })) as ProduceResponse
      const ms = produced.clientSideThrottleTime ?? 0
      holds.set(keyOf(leader, channel), { ms, until: performance.now() + ms })
      return produced.topics.flatMap(({ partitions: each }) => each)
    } catch (error) {
      throw isSent ? error : new NotSent('the request was not sent', { cause: error })
    }
  }

  return {
    /** Resolves with true if the broker responds over this channel, within the limits of a connection and a request. */
    async responds(leader: number, channel: Channel): Promise<boolean> {
      try {
        const broker = await brokerOf(leader, channel)
        await broker.connect()
        await broker.metadata([topic])
        return true
      } catch {
        return false
      }
    },

    /**
     * Requests the metadata of the topic. Connects when there is no connection. From the second time on, which follows
     * a failure, the other replicas are asked, too, and their responses are not waited for.
     */
    async refresh(): Promise<void> {
      const isFirst = partitions.size === 0
      await cluster.refreshMetadata()
      const found = brokerPool.metadata?.topicMetadata.find((each) => each.topic === topic)
      partitions = new Map(found?.partitionMetadata.map((partition) => [partition.partitionId, partition]))
      if (!isFirst) void askOthers()
    },

    /** Connects to all leaders. Never rejects: a request to a leader connects, too. */
    async connect(channel: Channel): Promise<void> {
      const known = [...new Set(partitions.values().map(({ leader }) => leader))].filter(addressOf)
      await Promise.allSettled(known.map(async (leader) => (await brokerOf(leader, channel)).connect()))
    },

    /** The broker that leads the partition by the newest metadata. */
    leaderOf(partition: number): number | undefined {
      const leader = partitions.get(partition)?.leader
      return leader === undefined ? undefined : addressOf(leader)?.nodeId
    },

    produce,

    /** The time for which a quota of Kafka delays the next request of this connection, in ms. */
    heldBackMs: (leader: number, channel: Channel): number =>
      Math.max(0, (holds.get(keyOf(leader, channel))?.until ?? 0) - performance.now()),

    /** The longest of the delays that have not ended, or a short time ago. */
    longestHoldMs(): number {
      const since = performance.now() - HOLD_KEPT_MS
      return Math.max(0, ...holds.values().map(({ ms, until }) => (until > since ? ms : 0)))
    },

    async disconnect(): Promise<void> {
      const brokers = await Promise.all([...channels.values()].map(({ broker }) => broker))
      await Promise.all([cluster, ...brokers].map((each) => each.disconnect()))
    },
  }
}
