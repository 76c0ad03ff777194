import { within } from '../runtime/time.ts'

/** A broker that takes longer is left out. */
const ASK_WITHIN_MS = 2_000

export type Partition = {
  partitionId: number
  leader: number
  replicas: readonly number[]
  topicId: string | undefined
  /** Counts the elections of leaders. Absent before version 10 of the metadata. */
  leaderEpoch?: number
}
type Address = { nodeId: number; host: string; port: number; rack: string | null }
export type Metadata = {
  brokers: readonly Address[]
  topicMetadata: readonly { topic: string; partitionMetadata: readonly Partition[] }[]
}
type Broker = {
  connectionPool: { pool: readonly { drop(error: Error): void }[] }
  metadata(topics: readonly string[]): Promise<unknown>
}
export type AskedPool = {
  metadata: unknown
  brokers: Record<number, Broker>
  rootLogger: object
  connectionPoolBuilder: { build(address: Address): Promise<object> }
  createBroker(options: object): Broker
  findBroker(wanted: { nodeId: number }): Promise<Broker>
}
type Cluster<W, O> = { brokerPool: AskedPool; fetchTopicsOffset(wanted: W): Promise<O> }

/**
 * Makes an admin read offsets from the newest leaders that any replica of the partitions knows. A broker that has lost
 * its controllers, but not its clients, still names itself the leader, and the end of the log from before: a log that
 * seems shorter than what its readers have passed would end them.
 */
export function useNewestLeaders<W, O>(cluster: Cluster<W, O>): void {
  const { brokerPool } = cluster
  const fetchOffsets = cluster.fetchTopicsOffset.bind(cluster)
  let asked: unknown
  cluster.fetchTopicsOffset = async (wanted) => {
    // Other metadata may arrive meanwhile.
    for (let { metadata } = brokerPool; metadata !== asked; { metadata } = brokerPool) {
      await takeNewestLeaders(brokerPool, metadata as Metadata)
      asked = metadata
    }
    return fetchOffsets(wanted)
  }
}

async function takeNewestLeaders(brokerPool: AskedPool, known: Metadata): Promise<void> {
  const partitions = new Map(partitionsOf(known).map((partition) => [keyOf(partition), partition]))
  await askReplicas(brokerPool, known, async (found) => {
    for (const theirs of partitionsOf(found)) {
      const partition = partitions.get(keyOf(theirs))
      if (partition === undefined || !isNewer(theirs, partition)) continue
      Object.assign(partition, theirs)
      const address = found.brokers.find((each) => each.nodeId === theirs.leader)
      if (address !== undefined) await addBroker(brokerPool, address)
    }
  })
}

/** Calls `learn` with the metadata of each replica that responds in time. Never rejects. */
export async function askReplicas(
  brokerPool: Pick<AskedPool, 'findBroker'>,
  known: Metadata,
  learn: (found: Metadata) => unknown,
): Promise<void> {
  const topics = known.topicMetadata.map(({ topic }) => topic)
  const silent = new Set<Broker>()

  async function ask(nodeId: number): Promise<void> {
    const broker = await brokerPool.findBroker({ nodeId })
    silent.add(broker)
    await learn((await broker.metadata(topics).finally(() => silent.delete(broker))) as Metadata)
  }

  const replicas = new Set(partitionsOf(known).flatMap((partition) => partition.replicas))
  await within(ASK_WITHIN_MS, Promise.allSettled([...replicas].map(ask)))
  // The client would wait for their responses when it disconnects.
  for (const { connectionPool } of silent)
    for (const connection of connectionPool.pool) connection.drop(new Error('no response'))
}

/** Adds a broker that the one which was asked first does not know. */
async function addBroker(brokerPool: AskedPool, address: Address): Promise<void> {
  const { nodeId } = address
  if (nodeId in brokerPool.brokers) return
  const connectionPool = await brokerPool.connectionPoolBuilder.build(address)
  brokerPool.brokers[nodeId] ??= brokerPool.createBroker({ nodeId, connectionPool, logger: brokerPool.rootLogger })
}

const partitionsOf = ({ topicMetadata }: Metadata) =>
  topicMetadata.flatMap(({ partitionMetadata }) => partitionMetadata)
const keyOf = ({ topicId, partitionId }: Partition) => `${topicId}-${partitionId}`
/** A topic that was created again has another id, and its epochs start again. */
export const isNewer = (one: Partition, other: Partition) =>
  one.topicId === other.topicId && (one.leaderEpoch ?? -1) > (other.leaderEpoch ?? -1)
