import {
  array,
  boolean,
  createByteWriter,
  encoderOf,
  int16,
  int32,
  int64,
  readResponse,
  struct,
  type Type,
  text,
  writeArray,
  writeTags,
} from './byte-codec.ts'
import {
  type DecodedRecord,
  decodeRecords,
  UNKNOWN_CODEC,
  type UndecodableBatch,
  undecodable,
} from './fetched-records.ts'
import type { BrokerPool, FetchPartition, FetchTopic, RequestDefinition } from './kafkajs-parts.ts'
import { encodeByName, encodeByTopicId, type ProduceOptions } from './produce-request.ts'
import { bytesOfTopicId, TOPIC_ID_BYTES, type TopicId, topicIdOf } from './topic-id.ts'

const uuid: Type<TopicId | undefined> = (reader) => topicIdOf(reader.bytes(TOPIC_ID_BYTES))

type Added = { encode(): Buffer; decode(bytes: Buffer): unknown }

/**
 * Adds a version to those of kafkajs, whose highest one is used when `build` returns undefined. `encode` replaces the
 * encoder of that one.
 */
function withVersion<Options>(
  original: RequestDefinition<Options>,
  apiVersion: number,
  build: (options: Options) => Added | undefined,
  encode?: (options: Options) => Buffer,
): RequestDefinition<Options> {
  const highest = Math.max(...original.versions.map(Number))
  return {
    versions: [...original.versions, apiVersion],
    protocol: (wanted) => (options) => {
      // The highest version of a broker may lie between the two.
      const { request, response } = original.protocol({ version: Math.min(highest, wanted.version) })(options)
      const added = wanted.version < apiVersion ? undefined : build(options)
      if (added === undefined)
        return { request: encode ? { ...request, encode: async () => encoderOf(encode(options)) } : request, response }
      return {
        request: { ...request, apiVersion, encode: async () => encoderOf(added.encode()) },
        response: { ...response, decode: async (bytes) => added.decode(bytes) },
      }
    },
  }
}

/** The requested topic that a response names. */
function requestedOf<T extends { topicId: TopicId }>(topics: readonly T[], id: TopicId | undefined, kind: string): T {
  const requested = topics.find(({ topicId }) => topicId === id)
  if (requested === undefined) throw new RangeError(`a ${kind} response has the topic ${id}, not requested`)
  return requested
}

const writer = createByteWriter()

type MetadataOptions = { topics: readonly string[]; allowAutoTopicCreation?: boolean }

const METADATA_VERSION = 10
const NO_ID = Buffer.alloc(TOPIC_ID_BYTES)
const [NO, YES] = [0, 1]

const BROKER = struct({ nodeId: int32, host: text, port: int32, rack: text })
const PARTITION = struct({
  partitionErrorCode: int16,
  partitionId: int32,
  leader: int32,
  leaderEpoch: int32,
  replicas: array(int32),
  isr: array(int32),
  offlineReplicas: array(int32),
})
const TOPIC = struct({
  topicErrorCode: int16,
  topic: text,
  topicId: uuid,
  isInternal: boolean,
  partitionMetadata: array(PARTITION),
  topicOperations: int32,
})
const METADATA = struct({
  clientSideThrottleTime: int32,
  brokers: array(BROKER),
  clusterId: text,
  controllerId: int32,
  topicMetadata: array(TOPIC),
  clusterOperations: int32,
})

/**
 * Adds version 10 of Metadata to those of kafkajs, whose highest is 6: from 10 on a response has topic ids. The decoded
 * response is that of version 6, and each partition has its leader's epoch, the id of its topic and the operations on
 * it that the user is authorized for, a bit for each: there kafkajs's admin passes them on. See Kafka's
 * MetadataRequest.json and MetadataResponse.json.
 */
export function metadataWithTopicIds(original: RequestDefinition<MetadataOptions>): RequestDefinition<MetadataOptions> {
  return withVersion(original, METADATA_VERSION, ({ topics, allowAutoTopicCreation = true }) => ({
    encode: () => writeMetadataRequest(topics, allowAutoTopicCreation),
    decode: decodeMetadata,
  }))
}

function writeMetadataRequest(topics: readonly string[], allowAutoTopicCreation: boolean): Buffer {
  writer.start()
  writeTags(writer)
  // A null array requests all topics.
  writer.uVarInt(topics.length === 0 ? 0 : topics.length + 1)
  for (const topic of topics) {
    writer.buffer(NO_ID)
    writer.compactString(topic)
    writeTags(writer)
  }
  writer.int8(allowAutoTopicCreation ? YES : NO)
  writer.int8(NO) // include the authorized operations of the cluster
  // The operations of the topics, which cost the brokers something for each topic.
  writer.int8(topics.length === 0 ? NO : YES)
  writeTags(writer)
  return writer.finish()
}

function decodeMetadata(bytes: Buffer) {
  const { topicMetadata, clusterOperations: _notRequested, ...metadata } = readResponse(bytes, METADATA)
  const topics = topicMetadata.map(({ topicId, topicOperations, partitionMetadata, ...topic }) => {
    const ofTopic = { topicId, topicOperations }
    return { ...topic, partitionMetadata: partitionMetadata.map((partition) => ({ ...partition, ...ofTopic })) }
  })
  return { throttleTime: 0, ...metadata, topicMetadata: topics }
}

/** The broker cannot read the records, or the index of the transactions that they belong to. */
const UNREADABLE = new Map([
  [2, 'CORRUPT_MESSAGE'],
  [-1, 'UNKNOWN_SERVER_ERROR'],
])
const UNKNOWN_TOPIC_OR_PARTITION = 3
/** UNKNOWN_TOPIC_ID and INCONSISTENT_TOPIC_ID: the leader has no topic of this id, or not in this partition. */
const TOPIC_ID_ERRORS = [100, 103]

/**
 * kafkajs does not know the errors about topic ids. Its reaction to an unknown topic name is right for them, too: it
 * refreshes the metadata, a consumer joins its group again, and the reader then finds out which topic there is now.
 */
export const errorKnownToKafkajs = (code: number) =>
  TOPIC_ID_ERRORS.includes(code) ? UNKNOWN_TOPIC_OR_PARTITION : code

type FetchOptions = {
  isolationLevel: number
  maxWaitTime: number
  minBytes: number
  maxBytes: number
  topics: readonly FetchTopic[]
  rackId?: string
}
type TopicWithId = FetchTopic & { topicId: TopicId }

const FETCH_VERSION = 13
const CONSUMER = -1
const NO_SESSION = { id: 0, epoch: -1 }
const NO_EPOCH = -1
const NO_OFFSET = -1n

/** Empty without records. */
const records: Type<Buffer> = (reader) => reader.bytes(Math.max(0, reader.uVarInt() - 1))

const FETCHED_PARTITION = struct({
  partition: int32,
  errorCode: int16,
  highWatermark: int64,
  lastStableOffset: int64,
  lastStartOffset: int64,
  abortedTransactions: array(struct({ producerId: int64, firstOffset: int64 })),
  preferredReadReplica: int32,
  records,
})
const FETCHED = struct({
  clientSideThrottleTime: int32,
  errorCode: int16,
  sessionId: int32,
  responses: array(struct({ topicId: uuid, partitions: array(FETCHED_PARTITION) })),
})

/**
 * Adds version 13 of Fetch to those of kafkajs, whose highest is 11. From 13 on a fetch names topics by id, so the
 * leader of a partition itself refuses to serve another topic of the same name. Without an id the highest version of
 * kafkajs is used. See Kafka's FetchRequest.json and FetchResponse.json.
 */
export function fetchByTopicId(original: RequestDefinition<FetchOptions>): RequestDefinition<FetchOptions> {
  return withVersion(original, FETCH_VERSION, (options) => {
    const topics = options.topics.flatMap(({ topic, partitions }) => {
      const topicId = partitions[0]?.topicId
      return topicId === undefined ? [] : [{ topic, topicId, partitions }]
    })
    if (topics.length < options.topics.length) return undefined
    return { encode: () => writeFetchRequest(options, topics), decode: (bytes) => decodeFetch(bytes, topics) }
  })
}

function writeFetchRequest(options: FetchOptions, topics: readonly TopicWithId[]): Buffer {
  writer.start()
  writeTags(writer)
  writer.int32(CONSUMER)
  writer.int32(options.maxWaitTime)
  writer.int32(options.minBytes)
  writer.int32(options.maxBytes)
  writer.int8(options.isolationLevel)
  writer.int32(NO_SESSION.id)
  writer.int32(NO_SESSION.epoch)
  writeArray(writer, topics, ({ topicId, partitions }) => {
    writer.buffer(bytesOfTopicId(topicId))
    writeArray(writer, partitions, writePartition)
    writeTags(writer)
  })
  writeArray(writer, [], () => {}) // forgotten topics
  writer.compactString(options.rackId ?? '')
  writeTags(writer)
  return writer.finish()
}

function writePartition({ partition, fetchOffset, maxBytes }: FetchPartition): void {
  writer.int32(partition)
  writer.int32(NO_EPOCH) // current leader epoch
  writer.int64(BigInt(fetchOffset))
  writer.int32(NO_EPOCH) // last fetched epoch
  writer.int64(NO_OFFSET) // log start offset
  writer.int32(maxBytes)
  writeTags(writer)
}

async function decodeFetch(bytes: Buffer, topics: readonly TopicWithId[]) {
  const fetched = { throttleTime: 0, ...readResponse(bytes, FETCHED) }
  const { errorCode } = fetched
  if (errorCode !== 0) {
    return { ...fetched, responses: topics.map((topic) => failedTopic(topic, errorCode)) }
  }
  const responses = []
  for (const { topicId, partitions } of fetched.responses) {
    const decoded: (Omit<(typeof partitions)[number], 'records'> & { messages: DecodedRecord[] })[] = []
    const requested = requestedOf(topics, topicId, 'fetch')
    for (const { records, ...partition } of partitions) {
      const unreadable = unreadableBatch(partition, requested)
      if (unreadable !== undefined) decoded.push({ ...partition, errorCode: 0, messages: [undecodable(unreadable)] })
      else {
        const messages = records.length === 0 ? [] : await decodeRecords(records)
        decoded.push({ ...partition, errorCode: errorKnownToKafkajs(partition.errorCode), messages })
      }
    }
    responses.push({ topicName: requested.topic, partitions: decoded })
  }
  return { ...fetched, responses }
}

/** Up to version 12 each partition carries an error of the whole request, and kafkajs looks for it nowhere else. */
function failedTopic({ topic, partitions }: TopicWithId, code: number) {
  const errorCode = errorKnownToKafkajs(code)
  return { topicName: topic, partitions: partitions.map(({ partition }) => ({ partition, errorCode })) }
}

/** The batch that the broker cannot read itself. kafkajs would throw the error for all partitions of the response. */
function unreadableBatch(
  { partition, errorCode }: { partition: number; errorCode: number },
  { partitions }: TopicWithId,
): UndecodableBatch | undefined {
  const requested = partitions.find((one) => one.partition === partition)
  const name = UNREADABLE.get(errorCode)
  if (name === undefined || requested === undefined) return undefined
  const cause = new Error(`the broker responds with ${name}`)
  return { offset: String(requested.fetchOffset), codec: UNKNOWN_CODEC, cause }
}

export type LookUpTopicId = (topic: string) => TopicId | undefined

/** Makes the fetches of a client get topic ids on the way to the broker, where `topicIdOf` returns one. */
export function fetchWithTopicIds(brokerPool: BrokerPool, topicIdOf: LookUpTopicId): void {
  const createBroker = brokerPool.createBroker.bind(brokerPool)
  brokerPool.createBroker = (options) => {
    const broker = createBroker(options)
    const fetch = broker.fetch.bind(broker)
    // kafkajs rebuilds the topics of a fetch, but not their partitions.
    const fetched = ({ topic, partitions }: FetchTopic) => {
      const topicId = topicIdOf(topic)
      return { topic, partitions: partitions.map((partition) => ({ ...partition, topicId })) }
    }
    broker.fetch = (call) => fetch({ ...call, topics: call.topics.map(fetched) })
    return broker
  }
}

const PRODUCE_VERSION = 13

const PRODUCED_PARTITION = struct({
  partition: int32,
  errorCode: int16,
  baseOffset: int64,
  logAppendTime: int64,
  logStartOffset: int64,
  recordErrors: array(struct({ index: int32, message: text })),
  errorMessage: text,
})
const PRODUCED = struct({
  topics: array(struct({ topicId: uuid, partitions: array(PRODUCED_PARTITION) })),
  clientSideThrottleTime: int32,
})

/**
 * Adds version 13 of Produce to those of kafkajs, whose highest is 7. From 13 on (Kafka 4.1) a request names topics by
 * id, so a leader refuses to append to another topic of the same name. Each partition of its decoded response has the
 * id. Without an id the highest version of kafkajs is used. See Kafka's ProduceRequest.json and ProduceResponse.json.
 */
export function produceByTopicId(original: RequestDefinition<ProduceOptions>): RequestDefinition<ProduceOptions> {
  const build = (options: ProduceOptions) => {
    const topics = options.topicData.flatMap(({ topic, topicId }) =>
      topicId === undefined ? [] : [{ topic, topicId }],
    )
    // From version 12 on a transaction ends in another way (KIP-890), which kafkajs does not know.
    if (topics.length < options.topicData.length || options.transactionalId) return undefined
    return { encode: () => encodeByTopicId(options), decode: (bytes: Buffer) => decodeProduced(bytes, topics) }
  }
  return withVersion(original, PRODUCE_VERSION, build, encodeByName)
}

function decodeProduced(bytes: Buffer, requested: readonly { topic: string; topicId: TopicId }[]) {
  const produced = readResponse(bytes, PRODUCED)
  const topics = produced.topics.map(({ topicId, partitions }) => ({
    topicName: requestedOf(requested, topicId, 'produce').topic,
    partitions: partitions.map((partition) => ({ ...partition, topicId })),
  }))
  return { throttleTime: 0, ...produced, topics }
}
