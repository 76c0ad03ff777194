import {
  type ByteReader,
  createByteWriter,
  encoderOf,
  readArray,
  readResponse,
  readTagged,
  writeTags,
} from './byte-codec.ts'
import type { RequestDefinition } from './kafkajs-parts.ts'
import type { TopicId } from './topic-id.ts'
import { readTopicId, withVersion } from './topic-ids.ts'

type MetadataOptions = { topics: readonly string[]; allowAutoTopicCreation?: boolean }

const VERSION = 10
const NO_ID = Buffer.alloc(16)
const [NO, YES] = [0, 1]

/**
 * Adds version 10 of Metadata to those of kafkajs, whose highest is 6: from 10 on a response has topic ids. The decoded
 * response is that of version 6, and each partition has its leader's epoch, the id of its topic and the operations on
 * it that the user is authorized for, a bit for each: there kafkajs's admin passes them on. See Kafka's
 * MetadataRequest.json and MetadataResponse.json.
 */
export function metadataWithTopicIds(original: RequestDefinition<MetadataOptions>): RequestDefinition<MetadataOptions> {
  const writer = createByteWriter()

  function writeRequest(topics: readonly string[], allowAutoTopicCreation: boolean): Buffer {
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

  return withVersion(original, VERSION, (highest, { topics, allowAutoTopicCreation = true }) => ({
    request: {
      ...highest.request,
      apiVersion: VERSION,
      encode: async () => encoderOf(writeRequest(topics, allowAutoTopicCreation)),
    },
    response: { ...highest.response, decode: async (bytes) => readResponse(bytes, readMetadata) },
  }))
}

function readMetadata(reader: ByteReader) {
  const metadata = {
    throttleTime: 0,
    clientSideThrottleTime: reader.int32(),
    brokers: readArray(reader, readBroker),
    clusterId: reader.compactString(),
    controllerId: reader.int32(),
    topicMetadata: readArray(reader, readTopic),
  }
  skipAuthorizedOperations(reader)
  return metadata
}

function readBroker(reader: ByteReader) {
  return readTagged(reader, {
    nodeId: reader.int32(),
    host: reader.compactString(),
    port: reader.int32(),
    rack: reader.compactString(),
  })
}

function readTopic(reader: ByteReader) {
  const topicErrorCode = reader.int16()
  const topic = reader.compactString()
  const topicId = readTopicId(reader)
  const isInternal = reader.boolean()
  const partitions = readArray(reader, (each) => readPartition(each, topicId))
  const topicOperations = reader.int32()
  const partitionMetadata = partitions.map((partition) => ({ ...partition, topicOperations }))
  return readTagged(reader, { topicErrorCode, topic, isInternal, partitionMetadata })
}

function readPartition(reader: ByteReader, topicId: TopicId | undefined) {
  const partitionErrorCode = reader.int16()
  const partitionId = reader.int32()
  const leader = reader.int32()
  return readTagged(reader, {
    partitionErrorCode,
    partitionId,
    leader,
    leaderEpoch: reader.int32(),
    replicas: readInt32s(reader),
    isr: readInt32s(reader),
    offlineReplicas: readInt32s(reader),
    topicId,
  })
}

const readInt32s = (reader: ByteReader): number[] => readArray(reader, (each) => each.int32())
const skipAuthorizedOperations = (reader: ByteReader) => void reader.int32()
