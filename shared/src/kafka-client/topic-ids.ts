import {
  type ByteReader,
  createByteWriter,
  encoderOf,
  readArray,
  readResponse,
  readTagged,
  writeArray,
  writeTags,
} from './byte-codec.ts'
import {
  type DecodedRecord,
  type DecodeRecords,
  UNKNOWN_CODEC,
  type UndecodableBatch,
  undecodable,
} from './fetched-records.ts'
import type { BrokerPool, Call, FetchPartition, FetchTopic, RequestDefinition } from './kafkajs-parts.ts'
import { bytesOfTopicId, TOPIC_ID_BYTES, type TopicId, topicIdOf } from './topic-id.ts'

export const readTopicId = (reader: ByteReader): TopicId | undefined => topicIdOf(reader.bytes(TOPIC_ID_BYTES))

/** Adds a version to those of kafkajs; `build` derives it from the call of kafkajs's highest version. */
export function withVersion<Options>(
  original: RequestDefinition<Options>,
  added: number,
  build: (highest: Call, options: Options) => Call,
): RequestDefinition<Options> {
  const version = Math.max(...original.versions.map(Number))
  return {
    versions: [...original.versions, added],
    // The highest version of a broker may lie between the two.
    protocol: (wanted) =>
      wanted.version < added
        ? original.protocol({ version: Math.min(version, wanted.version) })
        : (options) => build(original.protocol({ version })(options), options),
  }
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

/**
 * Adds version 13 of Fetch to those of kafkajs, whose highest is 11. From 13 on a fetch names topics by id, so the
 * leader of a partition itself refuses to serve another topic of the same name. Without an id the highest version of
 * kafkajs is used. See Kafka's FetchRequest.json and FetchResponse.json.
 */
export function fetchByTopicId(
  original: RequestDefinition<FetchOptions>,
  decodeRecords: DecodeRecords,
): RequestDefinition<FetchOptions> {
  const writer = createByteWriter()

  function writePartition({ partition, fetchOffset, maxBytes }: FetchPartition): void {
    writer.int32(partition)
    writer.int32(NO_EPOCH) // current leader epoch
    writer.int64(BigInt(fetchOffset))
    writer.int32(NO_EPOCH) // last fetched epoch
    writer.int64(NO_OFFSET) // log start offset
    writer.int32(maxBytes)
    writeTags(writer)
  }

  function writeTopic({ topicId, partitions }: TopicWithId): void {
    writer.buffer(bytesOfTopicId(topicId))
    writeArray(writer, partitions, writePartition)
    writeTags(writer)
  }

  function writeRequest(options: FetchOptions, topics: readonly TopicWithId[]): Buffer {
    writer.start()
    writeTags(writer)
    writer.int32(CONSUMER)
    writer.int32(options.maxWaitTime)
    writer.int32(options.minBytes)
    writer.int32(options.maxBytes)
    writer.int8(options.isolationLevel)
    writer.int32(NO_SESSION.id)
    writer.int32(NO_SESSION.epoch)
    writeArray(writer, topics, writeTopic)
    writeArray(writer, [], () => {}) // forgotten topics
    writer.compactString(options.rackId ?? '')
    writeTags(writer)
    return writer.finish()
  }

  return withVersion(original, FETCH_VERSION, (highest, options) => {
    const topics = options.topics.flatMap(topicWithId)
    if (topics.length < options.topics.length) return highest
    return {
      ...highest,
      request: {
        ...highest.request,
        apiVersion: FETCH_VERSION,
        encode: async () => encoderOf(writeRequest(options, topics)),
      },
      response: { ...highest.response, decode: (bytes) => decodeFetch(bytes, topics, decodeRecords) },
    }
  })
}

function topicWithId({ topic, partitions }: FetchTopic): TopicWithId[] {
  const topicId = partitions[0]?.topicId
  return topicId === undefined ? [] : [{ topic, topicId, partitions }]
}

async function decodeFetch(bytes: Buffer, topics: readonly TopicWithId[], decodeRecords: DecodeRecords) {
  const fetched = readResponse(bytes, readFetch)
  const { errorCode } = fetched
  if (errorCode !== 0) {
    return { ...fetched, responses: topics.map((topic) => failedTopic(topic, errorCode)) }
  }
  const responses = []
  for (const { topicId, partitions } of fetched.responses) {
    const decoded: (Omit<(typeof partitions)[number], 'records'> & { messages: DecodedRecord[] })[] = []
    const requested = requestedOf(topics, topicId)
    for (const { records, ...partition } of partitions) {
      const unreadable = unreadableBatch(partition, requested)
      if (unreadable !== undefined) decoded.push({ ...partition, errorCode: 0, messages: [undecodable(unreadable)] })
      else decoded.push({ ...partition, messages: records === undefined ? [] : await decodeRecords(records) })
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

function requestedOf(topics: readonly TopicWithId[], topicId: TopicId | undefined): TopicWithId {
  const requested = topics.find((topic) => topic.topicId === topicId)
  if (requested === undefined) throw new RangeError(`a fetch response has the topic ${topicId}, not requested`)
  return requested
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

function readFetch(reader: ByteReader) {
  return {
    throttleTime: 0,
    clientSideThrottleTime: reader.int32(),
    errorCode: reader.int16(),
    sessionId: reader.int32(),
    responses: readArray(reader, readTopic),
  }
}

function readTopic(reader: ByteReader) {
  return readTagged(reader, { topicId: readTopicId(reader), partitions: readArray(reader, readPartition) })
}

function readPartition(reader: ByteReader) {
  return readTagged(reader, {
    partition: reader.int32(),
    errorCode: errorKnownToKafkajs(reader.int16()),
    highWatermark: reader.int64().toString(),
    lastStableOffset: reader.int64().toString(),
    lastStartOffset: reader.int64().toString(),
    abortedTransactions: readArray(reader, readAbortedTransaction),
    preferredReadReplica: reader.int32(),
    records: readRecordBytes(reader),
  })
}

function readAbortedTransaction(reader: ByteReader) {
  return readTagged(reader, { producerId: reader.int64().toString(), firstOffset: reader.int64().toString() })
}

function readRecordBytes(reader: ByteReader): Buffer | undefined {
  const lengthPlusOne = reader.uVarInt()
  return lengthPlusOne <= 1 ? undefined : reader.bytes(lengthPlusOne - 1)
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
