import {
  type Decoder,
  type DecoderClass,
  type Definition,
  type EncoderClass,
  readArray,
  readInt32s,
  readTagged,
  readTopicId,
  readWhole,
  withVersion,
  writeTags,
} from './flexible.ts'
import type { TopicId } from './topic-id.ts'

type MetadataOptions = { topics: readonly string[]; allowAutoTopicCreation?: boolean }

const VERSION = 10
const NO_ID = Buffer.alloc(16)

/**
 * Version 10 of Metadata beside those that kafkajs has, whose highest is 6: from 10 on brokers tell the ids of topics. What
 * it gives is what version 6 does, and with each partition the id of its topic: there an admin passes it on. See Kafka's
 * MetadataRequest.json and MetadataResponse.json.
 */
export function metadataWithIds(
  known: Definition<MetadataOptions>,
  Encoder: EncoderClass,
  Decoder: DecoderClass,
): Definition<MetadataOptions> {
  const topic = (name: string) => writeTags(new Encoder().writeBuffer(NO_ID).writeUVarIntString(name))

  return withVersion(known, VERSION, (highest, { topics, allowAutoTopicCreation = true }) => ({
    request: {
      ...highest.request,
      apiVersion: VERSION,
      async encode() {
        const encoder = writeTags(new Encoder())
          .writeUVarIntArray(topics.length === 0 ? null : topics.map(topic))
          .writeBoolean(allowAutoTopicCreation)
          .writeBoolean(false)
          .writeBoolean(false)
        return writeTags(encoder)
      },
    },
    response: {
      ...highest.response,
      decode: async (bytes) => readWhole(new Decoder(bytes), readMetadata),
    },
  }))
}

function readMetadata(decoder: Decoder) {
  const clientSideThrottleTime = decoder.readInt32()
  const metadata = {
    throttleTime: 0,
    clientSideThrottleTime,
    brokers: readArray(decoder, readBroker),
    clusterId: decoder.readUVarIntString(),
    controllerId: decoder.readInt32(),
    topicMetadata: readArray(decoder, readTopic),
  }
  passOperations(decoder)
  return metadata
}

function readBroker(decoder: Decoder) {
  return readTagged(decoder, {
    nodeId: decoder.readInt32(),
    host: decoder.readUVarIntString(),
    port: decoder.readInt32(),
    rack: decoder.readUVarIntString(),
  })
}

function readTopic(decoder: Decoder) {
  const topicErrorCode = decoder.readInt16()
  const topic = decoder.readUVarIntString()
  const topicId = readTopicId(decoder)
  const isInternal = decoder.readBoolean()
  const partitionMetadata = readArray(decoder, (each) => readPartition(each, topicId))
  passOperations(decoder)
  return readTagged(decoder, { topicErrorCode, topic, isInternal, partitionMetadata })
}

function readPartition(decoder: Decoder, topicId: TopicId | undefined) {
  const partitionErrorCode = decoder.readInt16()
  const partitionId = decoder.readInt32()
  const leader = decoder.readInt32()
  passLeaderEpoch(decoder)
  return readTagged(decoder, {
    ...{ partitionErrorCode, partitionId, leader },
    replicas: readInt32s(decoder),
    isr: readInt32s(decoder),
    offlineReplicas: readInt32s(decoder),
    topicId,
  })
}

/** What somebody may do: it was not asked for. */
const passOperations = (decoder: Decoder) => void decoder.readInt32()

const passLeaderEpoch = (decoder: Decoder) => void decoder.readInt32()
