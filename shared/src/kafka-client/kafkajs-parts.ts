import type { TopicId } from './topic-id.ts'

// The parts inside kafkajs that the corrections use. It declares no types for them.

/** One version of a request. */
export type Call = {
  request: { apiKey: number; apiVersion: number; encode(): Promise<{ buffer: Buffer }> }
  response: { decode(bytes: Buffer): Promise<unknown>; parse(decoded: unknown): Promise<unknown> }
}
/** The versions of a request. kafkajs uses the highest one that the broker supports. */
export type RequestDefinition<Options> = {
  versions: (string | number)[]
  protocol(wanted: { version: number }): (options: Options) => Call
}

export type Address = { host: string; port: number; rack?: string | null }

export type Partition = {
  partitionId: number
  leader: number
  replicas: readonly number[]
  offlineReplicas: readonly number[]
  topicId: TopicId | undefined
  /** Counts the elections of leaders. Absent before version 10 of the metadata. */
  leaderEpoch?: number
}
export type Metadata = {
  brokers: (Address & { nodeId: number })[]
  topicMetadata: readonly { topic: string; partitionMetadata: readonly Partition[] }[]
}

export type PooledConnection = { openedAt: number; isConnected(): boolean; drop(error: Error): void }
export type ConnectionPool = Address & {
  pool: readonly PooledConnection[]
  isConnected(): boolean
  getConnection(index?: number): Promise<unknown>
  send(call: Call): Promise<unknown>
  destroy(): Promise<void>
}
/** Makes the connection pools of one client: of a producer, a consumer or an admin. */
export type PoolBuilder = { addresses: readonly string[]; build(address?: Address): Promise<ConnectionPool> }

/** Identifies a producer to the brokers: they append a batch of the same producer and sequence once. */
export type ProducerIdentity = { producerId: string; producerEpoch: number }

export type Broker = {
  nodeId: number | null
  connectionPool: ConnectionPool
  versions: Readonly<Record<number, { maxVersion: number }>> | null
  isConnected(): boolean
  /** Also waits for a connection that is not ready for requests yet. */
  connect(): Promise<void>
  disconnect(): Promise<void>
  lookupRequest<Options>(apiKey: number, definition: RequestDefinition<Options>): (options: Options) => Call
  metadata(topics: readonly string[]): Promise<Metadata>
  fetch(call: { topics: readonly FetchTopic[] }): Promise<unknown>
  offsetCommit(call: object): Promise<unknown>
  initProducerId(call: { transactionalId?: string; transactionTimeout: number }): Promise<ProducerIdentity>
  addPartitionsToTxn(call: object): Promise<unknown>
  endTxn(call: object): Promise<unknown>
}
/** A partition to fetch. Without a topic id its topic is fetched by name. */
export type FetchPartition = {
  partition: number
  fetchOffset: string | number
  maxBytes: number
  topicId?: TopicId | undefined
}
export type FetchTopic = { topic: string; partitions: readonly FetchPartition[] }

export type Attempt<T> = (bail: (error: unknown) => void, count: number, timeMs: number) => Promise<T>

export type BrokerPool = {
  metadata: Metadata | null
  metadataExpireAt: number | null
  brokers: Record<string, Broker>
  /** kafkajs takes it for the node that has its address, as read before the request of the metadata. */
  seedBroker: Broker | undefined
  connectionPoolBuilder: PoolBuilder
  rootLogger: object
  logger: { error(message: string, details: object): void }
  retrier<T>(attempt: Attempt<T>): Promise<T>
  createBroker(options: { connectionPool: ConnectionPool; nodeId?: number; logger: object }): Broker
  connectBroker(broker: Broker): Promise<void>
  findBroker(wanted: { nodeId: number }): Promise<Broker>
  hasConnectedBrokers(): boolean
  withBroker<T>(use: (parts: { nodeId: number | null; broker: Broker }) => Promise<T>): Promise<T>
}

export type WantedOffsets = { topic: string; fromBeginning?: boolean; partitions: readonly { partition: number }[] }
export type Offsets = { topic: string; partitions: { partition: number; offset: string }[] }

type WantedCoordinator = { groupId: string; coordinatorType?: number }

/** The parts that each producer, consumer and admin has. */
export type Cluster = {
  isolationLevel?: number
  targetTopics: Set<string>
  connectionPoolBuilder: PoolBuilder
  brokerPool: BrokerPool
  connect(): Promise<void>
  disconnect(): Promise<void>
  getNodeIds(): readonly string[]
  refreshMetadata(): Promise<void>
  refreshMetadataIfNecessary(): Promise<void>
  findTopicPartitionMetadata(topic: string): readonly Partition[]
  findControllerBroker(): Promise<Broker>
  findGroupCoordinator(wanted: WantedCoordinator): Promise<Broker>
  findGroupCoordinatorMetadata(wanted: WantedCoordinator): Promise<{ coordinator: { nodeId: number } }>
  fetchTopicsOffset(wanted: readonly WantedOffsets[]): Promise<Offsets[]>
}
