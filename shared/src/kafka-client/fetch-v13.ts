import { createByteWriter } from './byte-writer.ts'
import type { DecodedRecord } from './decode-record.ts'
import {
  type Decoder,
  type DecoderClass,
  type Definition,
  readArray,
  readTagged,
  readTopicId,
  readWhole,
  withVersion,
} from './flexible.ts'
import { bytesOfTopicId, type TopicId } from './topic-id.ts'

/** A partition to be fetched; without an id of its topic that is asked for by its name. */
export type FetchedPartition = {
  partition: number
  fetchOffset: string | number
  maxBytes: number
  topicId?: TopicId | undefined
}
type FetchOptions = {
  isolationLevel: number
  maxWaitTime: number
  minBytes: number
  maxBytes: number
  topics: readonly { topic: string; partitions: readonly FetchedPartition[] }[]
  rackId?: string
}
type DecodeRecords = (bytes: Buffer) => Promise<DecodedRecord[]>
type Named = readonly { topic: string; topicId: TopicId; partitions: readonly FetchedPartition[] }[]

const VERSION = 13
const CONSUMER = -1
const NO_SESSION = { id: 0, epoch: -1 }
const NONE = -1
const UNKNOWN_TOPIC_OR_PARTITION = 3
/** The leader has no topic of this id; or not in this partition, which another one of the name has already. */
const REFUSED_IDS = [100, 103]

/**
 * Version 13 of Fetch beside those that kafkajs has, whose highest is 11: from 13 on topics are asked for by their ids. The
 * leader of a partition itself then refuses to tell what another topic of the same name has there. Where no id is known
 * the highest version of kafkajs is used. See Kafka's FetchRequest.json and FetchResponse.json.
 */
export function fetchById(
  known: Definition<FetchOptions>,
  Decoder: DecoderClass,
  decodeRecords: DecodeRecords,
): Definition<FetchOptions> {
  const writer = createByteWriter()
  const writeTags = () => writer.uVarInt(0)

  function writeArray<T>(items: readonly T[], write: (item: T) => void): void {
    writer.uVarInt(items.length + 1)
    for (const item of items) write(item)
  }

  function writePartition({ partition, fetchOffset, maxBytes }: FetchedPartition): void {
    const [leaderEpoch, lastFetchedEpoch, logStartOffset] = [NONE, NONE, BigInt(NONE)]
    writer.int32(partition)
    writer.int32(leaderEpoch)
    writer.int64(BigInt(fetchOffset))
    writer.int32(lastFetchedEpoch)
    writer.int64(logStartOffset)
    writer.int32(maxBytes)
    writeTags()
  }

  function writeTopic({ topicId, partitions }: Named[number]): void {
    writer.buffer(bytesOfTopicId(topicId))
    writeArray(partitions, writePartition)
    writeTags()
  }

  function writeRequest(options: FetchOptions, topics: Named): Buffer {
    writer.begin()
    writeTags()
    writer.int32(CONSUMER)
    writer.int32(options.maxWaitTime)
    writer.int32(options.minBytes)
    writer.int32(options.maxBytes)
    writer.int8(options.isolationLevel)
    writer.int32(NO_SESSION.id)
    writer.int32(NO_SESSION.epoch)
    writeArray(topics, writeTopic)
    writeArray([], writeTags)
    writeArray([...Buffer.from(options.rackId ?? '')], writer.int8)
    writeTags()
    return writer.taken()
  }

  return withVersion(known, VERSION, (highest, options) => {
    const topics = options.topics.flatMap(withId)
    if (topics.length < options.topics.length) return highest
    async function encode() {
      const buffer = writeRequest(options, topics)
      // As much of an Encoder of kafkajs as is asked of it.
      return { buf: buffer, buffer }
    }
    async function decode(bytes: Buffer) {
      const answer = readWhole(new Decoder(bytes), readFetched)
      if (answer.errorCode !== 0) return { ...answer, responses: topics.map(failed(answer.errorCode)) }
      const responses = []
      for (const { topicId, partitions } of answer.responses) {
        responses.push({
          topicName: nameOf(topics, topicId),
          partitions: await decodeEach(partitions, decodeRecords),
        })
      }
      return { ...answer, responses }
    }
    return {
      ...highest,
      request: { ...highest.request, apiVersion: VERSION, encode },
      response: { ...highest.response, decode },
    }
  })
}

/** None when its id is not known. */
function withId({ topic, partitions }: FetchOptions['topics'][number]): Named {
  const topicId = partitions[0]?.topicId
  return topicId === undefined ? [] : [{ topic, topicId, partitions }]
}

/** Up to version 12 brokers tell an error of the whole with each partition, and kafkajs looks for it nowhere else. */
const failed =
  (code: number) =>
  ({ topic, partitions }: Named[number]) => ({
    topicName: topic,
    partitions: partitions.map(({ partition }) => ({ partition, errorCode: knownErrorOf(code) })),
  })

function nameOf(topics: Named, topicId: TopicId | undefined): string {
  const found = topics.find((asked) => asked.topicId === topicId)
  if (found === undefined) throw new RangeError(`a topic of the id ${topicId} was not asked for`)
  return found.topic
}

async function decodeEach(partitions: readonly ReturnType<typeof readPartition>[], decode: DecodeRecords) {
  const decoded = []
  for (const { records, ...partition } of partitions) {
    decoded.push({ ...partition, messages: records === undefined ? [] : await decode(records) })
  }
  return decoded
}

function readFetched(decoder: Decoder) {
  const clientSideThrottleTime = decoder.readInt32()
  return {
    ...{ throttleTime: 0, clientSideThrottleTime },
    errorCode: decoder.readInt16(),
    sessionId: decoder.readInt32(),
    responses: readArray(decoder, readTopic),
  }
}

function readTopic(decoder: Decoder) {
  return readTagged(decoder, {
    topicId: readTopicId(decoder),
    partitions: readArray(decoder, readPartition),
  })
}

function readPartition(decoder: Decoder) {
  return readTagged(decoder, {
    partition: decoder.readInt32(),
    errorCode: knownErrorOf(decoder.readInt16()),
    highWatermark: decoder.readInt64().toString(),
    lastStableOffset: decoder.readInt64().toString(),
    lastStartOffset: decoder.readInt64().toString(),
    abortedTransactions: readArray(decoder, readAborted),
    preferredReadReplica: decoder.readInt32(),
    records: readRecords(decoder),
  })
}

/**
 * kafkajs does not know the errors that ids came with. It does what is right for them about an unknown name: it asks for
 * the metadata and joins its group again, and whoever reads finds out which topic there is now.
 */
const knownErrorOf = (code: number) => (REFUSED_IDS.includes(code) ? UNKNOWN_TOPIC_OR_PARTITION : code)

function readAborted(decoder: Decoder) {
  return readTagged(decoder, {
    producerId: decoder.readInt64().toString(),
    firstOffset: decoder.readInt64().toString(),
  })
}

function readRecords(decoder: Decoder): Buffer | undefined {
  const lengthAndOne = decoder.readUVarInt()
  return lengthAndOne <= 1 ? undefined : decoder.readBytes(lengthAndOne - 1)
}
