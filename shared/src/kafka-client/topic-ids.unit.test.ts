import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { codePoints } from '../../../tests/support/generated-texts.ts'
import { kafkajsModule } from './kafkajs.ts'
import type { Message } from './produce-request.ts'
import { bytesOfTopicId, type TopicId, topicIdOf } from './topic-id.ts'
import { produceByTopicId } from './topic-ids.ts'

const METADATA = kafkajsModule('src/protocol/requests/metadata/index.js')
const FETCH = kafkajsModule('src/protocol/requests/fetch/index.js')
const PRODUCE = produceByTopicId(kafkajsModule('src/protocol/requests/produce/index.js'))
const Encoder = kafkajsModule('src/protocol/encoder.js')
type Encoded = InstanceType<typeof Encoder>

const ONE_ID = 'AAAAAAAAAAAAAAAAAAAAAQ' as TopicId

/** The tagged fields of a newer broker: a number, and bytes of unknown meaning. */
const tags = fc.array(fc.tuple(fc.integer({ min: 0, max: 300 }), fc.uint8Array({ maxLength: 200 })), {
  maxLength: 2,
})
type Tags = [number, Uint8Array][]

/** The generator and the encoder of a field of a response. */
type Type<T> = { values: fc.Arbitrary<T>; write(to: Encoded, value: T, added: Tags): unknown }
type Fields = Record<string, Type<unknown>>
type Values<F extends Fields> = { [Name in keyof F]: F[Name] extends Type<infer T> ? T : never }

const type = <T>(values: fc.Arbitrary<T>, write: Type<T>['write']): Type<T> => ({ values, write })
const int16 = (...codes: number[]) => type(fc.constantFrom(...codes), (to, code) => to.writeInt16(code))
const int32 = type(fc.integer({ min: -1, max: 2 ** 31 - 1 }), (to, value) => to.writeInt32(value))
const int64 = type(fc.bigInt({ min: -1n, max: 2n ** 62n }).map(String), (to, value) => to.writeInt64(value))
const boolean = type(fc.boolean(), (to, value) => to.writeBoolean(value))
const text = type(fc.string({ unit: codePoints, maxLength: 200 }), (to, value) => to.writeUVarIntString(value))
const nullableText = type(fc.option(text.values), (to, value) => to.writeUVarIntString(value))
const int32s = type(fc.array(int32.values), (to, values) =>
  to.writeUVarIntArray(values.map((value) => new Encoder().writeInt32(value))),
)
const topicId = type(
  fc
    .uint8Array({ minLength: 16, maxLength: 16 })
    .map((bytes) => topicIdOf(Buffer.from(bytes)) as TopicId)
    .filter((id) => id !== undefined),
  (to, id) => to.writeBuffer(bytesOfTopicId(id)),
)
/** Records have separate tests. */
const noRecords = type(fc.constant(undefined), (to) => to.writeUVarInt(0))

function listOf<F extends Fields>(fields: F, lengths: fc.ArrayConstraints): Type<Values<F>[]> {
  return type(fc.array(valuesOf(fields), lengths), (to, items, added) =>
    to.writeUVarIntArray(items.map((item) => struct(new Encoder(), fields, item, added))),
  )
}

const orNull = <T>({ values, write }: Type<T[]>): Type<T[] | null> =>
  type(fc.option(values), (to, items, added) => (items === null ? to.writeUVarIntArray(null) : write(to, items, added)))

const valuesOf = <F extends Fields>(fields: F) =>
  fc.record(
    Object.fromEntries(Object.entries(fields).map(([name, { values }]) => [name, values])),
  ) as unknown as fc.Arbitrary<Values<F>>

function struct<F extends Fields>(to: Encoded, fields: F, values: Values<F>, added: Tags): Encoded {
  for (const [name, { write }] of Object.entries(fields)) write(to, values[name], added)
  return tagged(to, added)
}

function tagged(to: Encoded, added: Tags): Encoded {
  to.writeUVarInt(added.length)
  for (const [tag, bytes] of added) to.writeUVarInt(tag).writeUVarInt(bytes.length).writeBuffer(Buffer.from(bytes))
  return to
}

/** Responses: their values, and their bytes. Tagged fields end their header and each structure. */
const responsesOf = <F extends Fields>(fields: F) =>
  fc.tuple(valuesOf(fields), tags).map(([values, added]) => ({
    ...{ values, bytes: struct(tagged(new Encoder(), added), fields, values, added).buffer as Buffer },
  }))

const metadata = responsesOf({
  clientSideThrottleTime: int32,
  brokers: listOf({ nodeId: int32, host: text, port: int32, rack: nullableText }, { maxLength: 4 }),
  clusterId: nullableText,
  controllerId: int32,
  topics: listOf(
    {
      topicErrorCode: int16(0, 3, 5),
      topic: text,
      topicId,
      isInternal: boolean,
      partitionMetadata: listOf(
        {
          ...{ partitionErrorCode: int16(0, 5, 9), partitionId: int32, leader: int32, leaderEpoch: int32 },
          ...{ replicas: int32s, isr: int32s, offlineReplicas: int32s },
        },
        { maxLength: 3 },
      ),
      topicOperations: int32,
    },
    { maxLength: 3 },
  ),
  clusterOperations: int32,
})
const decodeMetadata = (bytes: Buffer) => METADATA.protocol({ version: 10 })({ topics: [] }).response.decode(bytes)

const ONE = { minLength: 1, maxLength: 1 }
const fetchedWith = (...codes: number[]) =>
  responsesOf({
    clientSideThrottleTime: int32,
    errorCode: int16(...codes),
    sessionId: int32,
    topics: listOf(
      {
        topicId,
        partitions: listOf(
          {
            ...{ partition: int32, errorCode: int16(0, 1, 2, 3, 6, 100, 103, -1) },
            ...{ highWatermark: int64, lastStableOffset: int64, lastStartOffset: int64 },
            abortedTransactions: orNull(listOf({ producerId: int64, firstOffset: int64 }, {})),
            ...{ preferredReadReplica: int32, records: noRecords },
          },
          { maxLength: 4 },
        ),
      },
      ONE,
    ),
  })
const fetched = fetchedWith(0)

const fetchOf = (id: TopicId | undefined, partitions = [0]) => ({
  maxWaitTime: 100,
  minBytes: 1,
  maxBytes: 1_000,
  topics: [
    {
      topic: 'plants',
      partitions: partitions.map((partition) => ({ partition, fetchOffset: '5', maxBytes: 9, topicId: id })),
    },
  ],
})
const decodeFetched = (id: TopicId, bytes: Buffer, partitions?: number[]) =>
  FETCH.protocol({ version: 13 })(fetchOf(id, partitions)).response.decode(bytes)

const produced = responsesOf({
  topics: listOf(
    {
      topicId,
      partitions: listOf(
        {
          ...{ partition: int32, errorCode: int16(0, 6, 87, 100) },
          ...{ baseOffset: int64, logAppendTime: int64, logStartOffset: int64 },
          recordErrors: listOf({ index: int32, message: nullableText }, { maxLength: 3 }),
          errorMessage: nullableText,
        },
        { maxLength: 3 },
      ),
    },
    ONE,
  ),
  clientSideThrottleTime: int32,
})

const MESSAGES: Message[] = [
  { key: Buffer.from('a'), value: Buffer.from('b'), headers: { c: Buffer.from('d') }, timestamp: '7' },
  { key: null, value: Buffer.alloc(300, 'x'), timestamp: '8' },
]
const produceOf = (id: TopicId | undefined, messages = MESSAGES) => ({
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
      fc.asyncProperty(metadata, async ({ values, bytes }) => {
        const { topics, clusterOperations: _operations, ...response } = values
        expect(await decodeMetadata(bytes)).toEqual({
          throttleTime: 0,
          ...response,
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
      fc.asyncProperty(fetchedWith(0, 42, 100), async ({ values: { topics, ...response }, bytes }) => {
        const [topic] = topics as [(typeof topics)[0]]
        // An error about an id becomes the error for an unknown name, which kafkajs can handle; a log that the broker
        // cannot read (2 and -1), a batch that cannot be decoded.
        const isUnreadable = (code: number) => code === 2 || code === -1
        const known = (code: number) => (code >= 100 ? 3 : isUnreadable(code) ? 0 : code)
        const corrupt = { undecodable: { offset: '5', codec: 'unknown codec', cause: expect.any(Error) } }
        const partitions = topic.partitions.map(({ records: _records, ...each }) => ({
          ...each,
          errorCode: known(each.errorCode),
          abortedTransactions: each.abortedTransactions ?? [],
          messages: isUnreadable(each.errorCode) ? [expect.objectContaining(corrupt)] : [],
        }))
        const requested = [0, ...partitions.map(({ partition }) => partition)]
        // kafkajs looks for the error of a whole response in its partitions.
        const failed = requested.map((partition) => ({ partition, errorCode: known(response.errorCode) }))
        const expected = response.errorCode === 0 ? partitions : failed
        expect(await decodeFetched(topic.topicId, bytes, requested)).toEqual({
          ...{ throttleTime: 0, ...response, responses: [{ topicName: 'plants', partitions: expected }] },
        })
      }),
    )
  })

  it('is read with the tagged fields of any later release: Produce', async () => {
    await fc.assert(
      fc.asyncProperty(produced, async ({ values: { topics, clientSideThrottleTime }, bytes }) => {
        const [{ topicId: id, ...topic }] = topics as [(typeof topics)[0]]
        const partitions = topic.partitions.map((each) => ({ ...each, topicId: id }))
        expect(await decodeProduced(id, bytes)).toEqual({
          ...{ throttleTime: 0, clientSideThrottleTime, topics: [{ topicName: 'plants', partitions }] },
        })
      }),
    )
  })

  it('is rejected when it is truncated or too long', async () => {
    await fc.assert(
      fc.asyncProperty(metadata, fetched, produced, fc.nat(), async (ofMetadata, ofFetch, ofProduce, nat) => {
        const idIn = ({ values: { topics } }: typeof ofFetch | typeof ofProduce) => topics[0]?.topicId as TopicId
        for (const [bytes, decode] of [
          [ofMetadata.bytes, decodeMetadata],
          [ofFetch.bytes, (part: Buffer) => decodeFetched(idIn(ofFetch), part)],
          [ofProduce.bytes, (part: Buffer) => decodeProduced(idIn(ofProduce), part)],
        ] as const) {
          await expect(decode(bytes.subarray(0, nat % bytes.length))).rejects.toThrow(RangeError)
          await expect(decode(Buffer.concat([bytes, Buffer.alloc(1)]))).rejects.toThrow(RangeError)
        }
      }),
    )
  })

  it('is rejected when it has a topic that was not requested', async () => {
    for (const [kind, responses, decode] of [
      ['fetch', fetched, decodeFetched],
      ['produce', produced, decodeProduced],
    ] as const) {
      const [response] = fc.sample<{ values: { topics: { topicId: TopicId }[] }; bytes: Buffer }>(responses, 1)
      await expect(decode(ONE_ID, response?.bytes as Buffer)).rejects.toThrow(
        `a ${kind} response has the topic ${response?.values.topics[0]?.topicId}, not requested`,
      )
    }
  })
})

describe('a request', () => {
  const apiVersionOf = (definition: typeof FETCH, version: number, options: object) =>
    definition.protocol({ version })(options).request.apiVersion

  it.each([
    ['Metadata', METADATA, { topics: [] }, { 5: 5, 6: 6, 7: 6, 9: 6, 10: 10 }],
    ['Fetch', FETCH, fetchOf(ONE_ID), { 4: 4, 11: 11, 12: 11, 13: 13 }],
    ['Produce', PRODUCE, produceOf(ONE_ID), { 3: 3, 7: 7, 12: 7, 13: 13 }],
  ])(
    'uses the highest version that both the broker and this client support: %s',
    (_what, definition, options, used) => {
      const versions = Object.keys(used).map(Number)
      expect(Object.fromEntries(versions.map((of) => [of, apiVersionOf(definition, of, options)]))).toEqual(used)
      expect(Math.max(...definition.versions)).toBe(versions.at(-1))
    },
  )

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
      const options = produceOf(ONE_ID, [{ key: null, value: Buffer.alloc(length, 'x'), timestamp: '7' }, ...MESSAGES])
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
