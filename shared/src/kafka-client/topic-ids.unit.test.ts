import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kafkajsModule } from './kafkajs.ts'
import { bytesOfTopicId, type TopicId, topicIdOf } from './topic-ids.ts'

const METADATA = kafkajsModule('src/protocol/requests/metadata/index.js')
const FETCH = kafkajsModule('src/protocol/requests/fetch/index.js')
const PRODUCE = kafkajsModule('src/protocol/requests/produce/index.js')
const Encoder = kafkajsModule('src/protocol/encoder.js')
type Encoded = InstanceType<typeof Encoder>

const ONE_ID = 'AAAAAAAAAAAAAAAAAAAAAQ' as TopicId
const OTHER_ID = 'AAAAAAAAAAAAAAAAAAAAAg' as TopicId

const int32 = fc.integer({ min: -1, max: 2 ** 31 - 1 })
const int64 = fc.bigInt({ min: -1n, max: 2n ** 62n }).map(String)
const text = fc.string({ unit: 'binary', maxLength: 200 })
const nullableText = fc.option(text)
const topicId = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => topicIdOf(Buffer.from(bytes)) as TopicId)
  .filter((id) => id !== undefined)
/** The tagged fields of a newer broker: a number, and bytes of unknown meaning. */
const tags = fc.array(fc.tuple(fc.integer({ min: 0, max: 300 }), fc.uint8Array({ maxLength: 200 })), {
  maxLength: 2,
})
type Tags = [number, Uint8Array][]

function tagged(encoder: Encoded, added: Tags): Encoded {
  encoder.writeUVarInt(added.length)
  for (const [tag, bytes] of added) encoder.writeUVarInt(tag).writeUVarInt(bytes.length).writeBuffer(Buffer.from(bytes))
  return encoder
}

const list = (items: unknown[], write: (item: never) => Encoded) => items.map((item) => write(item as never))
const int32s = (numbers: number[]) => list(numbers, (number) => new Encoder().writeInt32(number))

const metadata = fc.record({
  tags,
  clientSideThrottleTime: int32,
  brokers: fc.array(fc.record({ nodeId: int32, host: text, port: int32, rack: nullableText }), {
    maxLength: 4,
  }),
  clusterId: nullableText,
  controllerId: int32,
  topics: fc.array(
    fc.record({
      topicErrorCode: fc.constantFrom(0, 3, 5),
      topic: text,
      topicId,
      isInternal: fc.boolean(),
      topicOperations: int32,
      partitionMetadata: fc.array(
        fc.record({
          partitionErrorCode: fc.constantFrom(0, 5, 9),
          partitionId: int32,
          leader: int32,
          replicas: fc.array(int32),
          isr: fc.array(int32),
          offlineReplicas: fc.array(int32),
        }),
        { maxLength: 3 },
      ),
    }),
    { maxLength: 3 },
  ),
})
type Metadata = typeof metadata extends fc.Arbitrary<infer M> ? M : never

function metadataBytes({ tags: added, topics, ...response }: Metadata): Buffer {
  const write = {
    broker: ({ nodeId, host, port, rack }: Metadata['brokers'][number]) =>
      tagged(
        new Encoder().writeInt32(nodeId).writeUVarIntString(host).writeInt32(port).writeUVarIntString(rack),
        added,
      ),
    partition: (each: Metadata['topics'][number]['partitionMetadata'][number]) =>
      tagged(
        new Encoder()
          .writeInt16(each.partitionErrorCode)
          .writeInt32(each.partitionId)
          .writeInt32(each.leader)
          .writeInt32(4)
          .writeUVarIntArray(int32s(each.replicas))
          .writeUVarIntArray(int32s(each.isr))
          .writeUVarIntArray(int32s(each.offlineReplicas)),
        added,
      ),
    topic: (each: Metadata['topics'][number]) =>
      tagged(
        new Encoder()
          .writeInt16(each.topicErrorCode)
          .writeUVarIntString(each.topic)
          .writeBuffer(bytesOfTopicId(each.topicId))
          .writeBoolean(each.isInternal)
          .writeUVarIntArray(list(each.partitionMetadata, write.partition))
          .writeInt32(each.topicOperations),
        added,
      ),
  }
  return tagged(
    tagged(new Encoder(), added)
      .writeInt32(response.clientSideThrottleTime)
      .writeUVarIntArray(list(response.brokers, write.broker))
      .writeUVarIntString(response.clusterId)
      .writeInt32(response.controllerId)
      .writeUVarIntArray(list(topics, write.topic))
      .writeInt32(-2_147_483_648),
    added,
  ).buffer
}

const decodeMetadata = (bytes: Buffer) => METADATA.protocol({ version: 10 })({ topics: [] }).response.decode(bytes)

/** Without records, which have separate tests. */
const fetched = fc.record({
  tags,
  topicId,
  clientSideThrottleTime: int32,
  sessionId: int32,
  partitions: fc.array(
    fc.record({
      partition: int32,
      errorCode: fc.constantFrom(0, 1, 3, 6, 100, 103),
      highWatermark: int64,
      lastStableOffset: int64,
      lastStartOffset: int64,
      abortedTransactions: fc.option(fc.array(fc.record({ producerId: int64, firstOffset: int64 }))),
      preferredReadReplica: int32,
    }),
    { maxLength: 4 },
  ),
})
type Fetched = typeof fetched extends fc.Arbitrary<infer F> ? F : never

function fetchedBytes({ tags: added, partitions, ...response }: Fetched): Buffer {
  const aborted = ({ producerId, firstOffset }: { producerId: string; firstOffset: string }) =>
    tagged(new Encoder().writeInt64(producerId).writeInt64(firstOffset), added)
  const partition = (each: Fetched['partitions'][number]) =>
    tagged(
      new Encoder()
        .writeInt32(each.partition)
        .writeInt16(each.errorCode)
        .writeInt64(each.highWatermark)
        .writeInt64(each.lastStableOffset)
        .writeInt64(each.lastStartOffset)
        .writeUVarIntArray(each.abortedTransactions && list(each.abortedTransactions, aborted))
        .writeInt32(each.preferredReadReplica)
        .writeUVarInt(0),
      added,
    )
  const topic = () =>
    tagged(
      new Encoder().writeBuffer(bytesOfTopicId(response.topicId)).writeUVarIntArray(list(partitions, partition)),
      added,
    )
  return tagged(
    tagged(new Encoder(), added)
      .writeInt32(response.clientSideThrottleTime)
      .writeInt16(0)
      .writeInt32(response.sessionId)
      .writeUVarIntArray([topic()]),
    added,
  ).buffer
}

const fetchOf = (id: TopicId | undefined) => ({
  maxWaitTime: 100,
  minBytes: 1,
  maxBytes: 1_000,
  topics: [{ topic: 'plants', partitions: [{ partition: 0, fetchOffset: '0', maxBytes: 9, topicId: id }] }],
})
const decodeFetched = (id: TopicId, bytes: Buffer) =>
  FETCH.protocol({ version: 13 })(fetchOf(id)).response.decode(bytes)

const produced = fc.record({
  tags,
  topicId,
  clientSideThrottleTime: int32,
  partitions: fc.array(
    fc.record({
      partition: int32,
      errorCode: fc.constantFrom(0, 6, 87, 100),
      baseOffset: int64,
      logAppendTime: int64,
      logStartOffset: int64,
      recordErrors: fc.array(fc.record({ index: int32, message: nullableText }), { maxLength: 3 }),
      errorMessage: nullableText,
    }),
    { maxLength: 3 },
  ),
})
type Produced = typeof produced extends fc.Arbitrary<infer P> ? P : never

function producedBytes({ tags: added, topicId: id, partitions, clientSideThrottleTime }: Produced): Buffer {
  const recordError = ({ index, message }: Produced['partitions'][number]['recordErrors'][number]) =>
    tagged(new Encoder().writeInt32(index).writeUVarIntString(message), added)
  const partition = (each: Produced['partitions'][number]) =>
    tagged(
      new Encoder()
        .writeInt32(each.partition)
        .writeInt16(each.errorCode)
        .writeInt64(each.baseOffset)
        .writeInt64(each.logAppendTime)
        .writeInt64(each.logStartOffset)
        .writeUVarIntArray(list(each.recordErrors, recordError))
        .writeUVarIntString(each.errorMessage),
      added,
    )
  const topic = tagged(
    new Encoder().writeBuffer(bytesOfTopicId(id)).writeUVarIntArray(list(partitions, partition)),
    added,
  )
  return tagged(tagged(new Encoder(), added).writeUVarIntArray([topic]).writeInt32(clientSideThrottleTime), added)
    .buffer
}

const MESSAGES = [
  { key: 'a', value: 'b', headers: { c: 'd' }, timestamp: '7' },
  { value: 'x'.repeat(300), timestamp: '8' },
]
const produceOf = (id: TopicId | undefined, messages: object[] = MESSAGES) => ({
  acks: -1,
  timeout: 5_000,
  producerId: -1,
  producerEpoch: 0,
  topicData: [{ topic: 'plants', topicId: id, partitions: [{ partition: 3, messages }] }],
})
const decodeProduced = (id: TopicId, bytes: Buffer) =>
  PRODUCE.protocol({ version: 13 })(produceOf(id)).response.decode(bytes)

describe('a response with topic ids', () => {
  it('is read with the tagged fields of any later release: Metadata', async () => {
    await fc.assert(
      fc.asyncProperty(metadata, async (response) => {
        const { clientSideThrottleTime, brokers, clusterId, controllerId, topics } = response
        expect(await decodeMetadata(metadataBytes(response))).toEqual({
          throttleTime: 0,
          clientSideThrottleTime,
          brokers,
          clusterId,
          controllerId,
          topicMetadata: topics.map(({ topicId: id, topicOperations, partitionMetadata, ...topic }) => ({
            ...topic,
            partitionMetadata: partitionMetadata.map((each) => ({ ...each, topicId: id, topicOperations })),
          })),
        })
      }),
    )
  })

  it('is read with the tagged fields of any later release: Fetch', async () => {
    await fc.assert(
      fc.asyncProperty(fetched, async (response) => {
        const { clientSideThrottleTime, sessionId, partitions } = response
        // An error about an id becomes the error for an unknown name, which kafkajs can handle.
        const known = (code: number) => (code >= 100 ? 3 : code)
        expect(await decodeFetched(response.topicId, fetchedBytes(response))).toEqual({
          throttleTime: 0,
          clientSideThrottleTime,
          errorCode: 0,
          sessionId,
          responses: [
            {
              topicName: 'plants',
              partitions: partitions.map((each) => ({
                ...each,
                errorCode: known(each.errorCode),
                abortedTransactions: each.abortedTransactions ?? [],
                messages: [],
              })),
            },
          ],
        })
      }),
    )
  })

  it('is read with the tagged fields of any later release: Produce', async () => {
    await fc.assert(
      fc.asyncProperty(produced, async (response) => {
        const { clientSideThrottleTime, partitions } = response
        expect(await decodeProduced(response.topicId, producedBytes(response))).toEqual({
          throttleTime: 0,
          clientSideThrottleTime,
          topics: [
            {
              topicName: 'plants',
              topicId: response.topicId,
              partitions: partitions.map(({ recordErrors: _errors, errorMessage: _text, ...each }) => ({
                ...each,
                topicId: response.topicId,
              })),
            },
          ],
        })
      }),
    )
  })

  it('is rejected when it is truncated or too long', async () => {
    await fc.assert(
      fc.asyncProperty(metadata, fetched, produced, fc.nat(), async (ofMetadata, ofFetch, ofProduce, nat) => {
        for (const [bytes, decode] of [
          [metadataBytes(ofMetadata), decodeMetadata],
          [fetchedBytes(ofFetch), (part: Buffer) => decodeFetched(ofFetch.topicId, part)],
          [producedBytes(ofProduce), (part: Buffer) => decodeProduced(ofProduce.topicId, part)],
        ] as const) {
          await expect(decode(bytes.subarray(0, nat % bytes.length))).rejects.toThrow(RangeError)
          await expect(decode(Buffer.concat([bytes, Buffer.alloc(1)]))).rejects.toThrow(RangeError)
        }
      }),
    )
  })

  it('is rejected when it has a topic that was not requested', async () => {
    const response = { ...fc.sample(fetched, { numRuns: 1, seed: 1 })[0], topicId: OTHER_ID } as Fetched
    await expect(decodeFetched(ONE_ID, fetchedBytes(response))).rejects.toThrow(
      `a fetch response has the topic ${OTHER_ID}, not requested`,
    )
    const produce = { ...fc.sample(produced, { numRuns: 1, seed: 1 })[0], topicId: OTHER_ID } as Produced
    await expect(decodeProduced(ONE_ID, producedBytes(produce))).rejects.toThrow(
      `a produce response has the topic ${OTHER_ID}, not requested`,
    )
  })
})

describe('a request', () => {
  const apiVersionOf = (definition: typeof FETCH, version: number, options: object) =>
    definition.protocol({ version })(options).request.apiVersion

  it('uses the highest version that both the broker and this client support', () => {
    for (const [of, version] of [
      [5, 5],
      [6, 6],
      [7, 6],
      [9, 6],
      [10, 10],
    ] as const) {
      expect([of, apiVersionOf(METADATA, of, { topics: [] })]).toEqual([of, version])
    }
    for (const [of, version] of [
      [4, 4],
      [11, 11],
      [12, 11],
      [13, 13],
    ] as const) {
      expect([of, apiVersionOf(FETCH, of, fetchOf(ONE_ID))]).toEqual([of, version])
    }
    for (const [of, version] of [
      [3, 3],
      [7, 7],
      [12, 7],
      [13, 13],
    ] as const) {
      expect([of, apiVersionOf(PRODUCE, of, produceOf(ONE_ID))]).toEqual([of, version])
    }
    expect(Math.max(...FETCH.versions)).toBe(13)
    expect(Math.max(...PRODUCE.versions)).toBe(13)
    expect(Math.max(...METADATA.versions)).toBe(10)
  })

  it('names a topic by its name while its id is not known', () => {
    expect(apiVersionOf(FETCH, 13, fetchOf(undefined))).toBe(11)
    expect(apiVersionOf(PRODUCE, 13, produceOf(undefined))).toBe(7)
  })

  it('to fetch by id has the rack of the consumer, by which the broker chooses a replica', async () => {
    const bytesOf = async (rackId?: string): Promise<Buffer> =>
      (await FETCH.protocol({ version: 13 })({ ...fetchOf(ONE_ID), rackId }).request.encode()).buffer
    // The length of the text, the text and no tagged fields end the request.
    expect((await bytesOf('zone-a')).subarray(-8).equals(Buffer.from('\u0007zone-a\0'))).toBe(true)
    expect((await bytesOf()).subarray(-2).equals(Buffer.from([1, 0]))).toBe(true)
  })

  it('to append by id has the batches of one by name', async () => {
    // Batches of one byte to four bytes of size.
    for (const length of [0, 60, 8_100, 70_000, 3_000_000]) {
      const options = produceOf(ONE_ID, [{ value: 'x'.repeat(length), timestamp: '7' }, ...MESSAGES])
      const bytesOf = async (version: number): Promise<Buffer> =>
        (await PRODUCE.protocol({ version })(options).request.encode()).buffer
      const byName = await bytesOf(7)
      const head = new Encoder().writeString(null).writeInt16(-1).writeInt32(5_000).writeInt32(1).writeString('plants')
      const batch = byName.subarray(head.writeInt32(1).writeInt32(3).writeInt32(0).buffer.length)
      const byId = tagged(new Encoder(), [])
        .writeUVarInt(0)
        .writeInt16(-1)
        .writeInt32(5_000)
        .writeUVarInt(2)
        .writeBuffer(bytesOfTopicId(ONE_ID))
        .writeUVarInt(2)
        .writeInt32(3)
        .writeUVarInt(batch.length + 1)
        .writeBuffer(batch)
      for (let level = 0; level < 3; level++) tagged(byId, [])
      expect((await bytesOf(13)).equals(byId.buffer)).toBe(true)
    }
  })

  it('reads the zero id as none', () => {
    expect(topicIdOf(Buffer.alloc(16))).toBeUndefined()
  })
})
