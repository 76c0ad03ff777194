import { randomInt } from 'node:crypto'
import { within } from '../runtime/time.ts'
import type { Broker, BrokerPool, Cluster, Metadata, Partition } from './kafkajs-parts.ts'

/** A broker that takes longer is left out. */
const ASK_WITHIN_MS = 2_000
const ASK_EVERY_MS = 5_000

type Node = Metadata['brokers'][number]

/**
 * Makes an admin read offsets from the newest leaders that any replica of the partitions knows. A broker that has lost
 * its controllers, but not its clients, still names itself the leader, and the end of the log from before: a log that
 * seems shorter than what its readers have passed would end them.
 */
export function useNewestLeaders(cluster: Cluster): void {
  const { brokerPool } = cluster
  const fetchOffsets = cluster.fetchTopicsOffset.bind(cluster)
  let asked: Metadata | undefined
  cluster.fetchTopicsOffset = async (wanted) => {
    // Other metadata may arrive meanwhile.
    while (brokerPool.metadata !== null && brokerPool.metadata !== asked) {
      const known = brokerPool.metadata
      await askReplicas(brokerPool, known)
      asked = known
    }
    return fetchOffsets(wanted)
  }
}

/**
 * Takes the leaders that others know to be newer: a broker that has lost its controllers names former ones. Returns their
 * addresses.
 */
export function takeNewerLeaders(own: Metadata, others: Metadata): Node[] {
  const partitions = new Map(partitionsOf(own).map((partition) => [keyOf(partition), partition]))
  const leaders = new Set<number>()
  for (const theirs of partitionsOf(others)) {
    const partition = partitions.get(keyOf(theirs))
    if (partition === undefined || !isNewer(theirs, partition)) continue
    Object.assign(partition, theirs)
    leaders.add(theirs.leader)
  }
  const addresses = others.brokers.filter(({ nodeId }) => leaders.has(nodeId))
  const isKnown = ({ nodeId }: Node) => own.brokers.some((each) => each.nodeId === nodeId)
  own.brokers.push(...addresses.filter((address) => !isKnown(address)))
  return addresses
}

/** Takes them from the response of a replica, with their brokers, which the one that was asked first may not know. */
async function learnLeaders(brokerPool: BrokerPool, found: Metadata): Promise<void> {
  const { metadata, brokers, connectionPoolBuilder, rootLogger } = brokerPool
  if (metadata === null) return
  for (const address of takeNewerLeaders(metadata, found)) {
    const { nodeId } = address
    if (nodeId in brokers) continue
    const connectionPool = await connectionPoolBuilder.build(address)
    brokers[nodeId] ??= brokerPool.createBroker({ nodeId, connectionPool, logger: rootLogger })
  }
}

/**
 * Makes a consumer ask one of the replicas, drawn at random, for newer leaders every 5 s. A leader that has lost its
 * controllers, but not its clients, still responds to their fetches, without the records of its successor.
 */
export function followNewestLeaders(cluster: Cluster): void {
  const { brokerPool } = cluster
  const refreshIfNecessary = cluster.refreshMetadataIfNecessary.bind(cluster)
  let askedAt = performance.now()

  async function ask(known: Metadata): Promise<void> {
    const nodeIds = replicasOf(known)
    const broker = await brokerPool.findBroker({ nodeId: nodeIds[randomInt(nodeIds.length)] as number })
    await learnLeaders(brokerPool, await broker.metadata(topicsOf(known)))
  }

  // Before each fetch.
  cluster.refreshMetadataIfNecessary = async () => {
    const { metadata } = brokerPool
    if (metadata !== null && performance.now() - askedAt >= ASK_EVERY_MS) {
      askedAt = performance.now()
      // Not awaited. Another replica may be asked the next time.
      void ask(metadata).catch(() => {})
    }
    await refreshIfNecessary()
  }
}

/** Learns the newest leaders from the replicas that respond in time. Never rejects. */
export async function askReplicas(brokerPool: BrokerPool, known: Metadata): Promise<void> {
  const topics = topicsOf(known)
  const silent = new Set<Broker>()

  async function ask(nodeId: number): Promise<void> {
    const broker = await brokerPool.findBroker({ nodeId })
    silent.add(broker)
    const found = await broker.metadata(topics).finally(() => silent.delete(broker))
    await learnLeaders(brokerPool, found)
  }

  await within(ASK_WITHIN_MS, Promise.allSettled(replicasOf(known).map(ask)))
  // The client would wait for their responses when it disconnects.
  for (const { connectionPool } of silent)
    for (const connection of connectionPool.pool) connection.drop(new Error('no response'))
}

const partitionsOf = ({ topicMetadata }: Metadata) =>
  topicMetadata.flatMap(({ partitionMetadata }) => partitionMetadata)
const replicasOf = (known: Metadata) => [...new Set(partitionsOf(known).flatMap(({ replicas }) => replicas))]
const topicsOf = ({ topicMetadata }: Metadata) => topicMetadata.map(({ topic }) => topic)
const keyOf = ({ topicId, partitionId }: Partition) => `${topicId}-${partitionId}`
/** A topic that was created again has another id, and its epochs start again. */
const isNewer = (one: Partition, other: Partition) =>
  one.topicId === other.topicId && (one.leaderEpoch ?? -1) > (other.leaderEpoch ?? -1)
