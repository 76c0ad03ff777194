import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kafkajsModule } from './kafkajs.ts'
import type { Message } from './produce-request.ts'
import { bytesOfTopicId, type TopicId, topicIdOf } from './topic-id.ts'
import { produceByTopicId } from './topic-ids.ts'

const METADATA = kafkajsModule('src/protocol/requests/metadata/index.js')
const FETCH = kafkajsModule('src/protocol/requests/fetch/index.js')
const PRODUCE = produceByTopicId(kafkajsModule('src/protocol/requests/produce/index.js'))
const Encoder = kafkajsModule('src/protocol/encoder.js')

const ID = 'AAAAAAAAAAAAAAAAAAAAAQ' as TopicId
const OTHER_ID = 'AAAAAAAAAAAAAAAAAAAAAg' as TopicId
const NO_TAGS = Buffer.of(0)

const fetchOf = (topicId: TopicId | undefined, partitions = [0]) => {
  const fetched = partitions.map((partition) => ({ partition, fetchOffset: '5', maxBytes: 9, topicId }))
  return { maxWaitTime: 100, minBytes: 1, maxBytes: 1_000, topics: [{ topic: 'plants', partitions: fetched }] }
}

const MESSAGES: Message[] = [
  { key: Buffer.from('a'), value: Buffer.from('b'), headers: { c: Buffer.from('d') }, timestamp: '7' },
  { key: null, value: Buffer.alloc(300, 'x'), timestamp: '8' },
]
const produceOf = (topicId: TopicId | undefined, messages = MESSAGES) => ({
  ...{ acks: -1, timeout: 5_000, producerId: -1, producerEpoch: 0 },
  topicData: [{ topic: 'plants', topicId, partitions: [{ partition: 3, messages }] }],
})

type Fetched = { errorCode?: number; partitionCode?: number; topicId?: TopicId; tags?: Buffer }

/** A Fetch response of one partition without records. Tagged fields end its header and each of its structures. */
function fetchedWith({ errorCode = 0, partitionCode = 0, topicId = ID, tags = NO_TAGS }: Fetched): Buffer {
  const aborted = new Encoder().writeInt64(7).writeInt64('9007199254740993').writeBuffer(tags)
  const partition = new Encoder().writeInt32(0).writeInt16(partitionCode)
  for (const offset of [30, 20, 10]) partition.writeInt64(offset)
  // Partitions with an error have null instead of aborted transactions.
  partition.writeUVarIntArray(partitionCode === 0 ? [aborted] : null)
  partition.writeInt32(2).writeUVarInt(0).writeBuffer(tags)
  const topic = new Encoder().writeBuffer(bytesOfTopicId(topicId)).writeUVarIntArray([partition]).writeBuffer(tags)
  return new Encoder()
    .writeBuffer(tags)
    .writeInt32(40)
    .writeInt16(errorCode)
    .writeInt32(0)
    .writeUVarIntArray([topic])
    .writeBuffer(tags).buffer
}

const decodeFetched = (bytes: Buffer, partitions?: number[]) =>
  FETCH.protocol({ version: 13 })(fetchOf(ID, partitions)).response.decode(bytes)

describe('a response with topic ids', () => {
  const tags = fc
    .array(fc.tuple(fc.nat(300), fc.uint8Array({ maxLength: 200 })), { maxLength: 2 })
    .map((fields): Buffer => {
      const written = new Encoder().writeUVarInt(fields.length)
      for (const [tag, bytes] of fields)
        written.writeUVarInt(tag).writeUVarInt(bytes.length).writeBuffer(Buffer.from(bytes))
      return written.buffer
    })
  const partition = {
    ...{ partition: 0, errorCode: 0, highWatermark: '30', lastStableOffset: '20', lastStartOffset: '10' },
    abortedTransactions: [{ producerId: '7', firstOffset: '9007199254740993' }],
    ...{ preferredReadReplica: 2, messages: [] },
  }

  it('is read with the tagged fields of any later release, and rejected when it is truncated or too long', async () => {
    await fc.assert(
      fc.asyncProperty(tags, fc.nat(), async (added, nat) => {
        const bytes = fetchedWith({ tags: added })
        expect(await decodeFetched(bytes)).toEqual({
          ...{ throttleTime: 0, clientSideThrottleTime: 40, errorCode: 0, sessionId: 0 },
          responses: [{ topicName: 'plants', partitions: [partition] }],
        })
        await expect(decodeFetched(bytes.subarray(0, nat % bytes.length))).rejects.toThrow(RangeError)
        await expect(decodeFetched(Buffer.concat([bytes, Buffer.alloc(1)]))).rejects.toThrow(RangeError)
      }),
    )
  })

  it.each([
    ['as it is', 6, 6],
    ['as one about the name, which kafkajs can handle', 100, 3],
    ['as one about the name, which kafkajs can handle', 103, 3],
  ])('has an error %s: %d', async (_how, sent, errorCode) => {
    const ofPartition = await decodeFetched(fetchedWith({ partitionCode: sent }))
    const without = { errorCode, abortedTransactions: [], messages: [] }
    expect(ofPartition.responses[0].partitions).toEqual([{ ...partition, ...without }])
    // kafkajs looks for the error of a whole response in its partitions.
    const ofAll = await decodeFetched(fetchedWith({ errorCode: sent }), [0, 4])
    expect(ofAll.responses[0].partitions).toEqual([0, 4].map((each) => ({ partition: each, errorCode })))
  })

  it.each([2, -1])(
    'has a batch that cannot be decoded where the broker cannot read one (%d)',
    async (partitionCode) => {
      const { responses } = await decodeFetched(fetchedWith({ partitionCode }))
      const undecodable = { offset: '5', codec: 'unknown codec', cause: expect.any(Error) }
      expect(responses[0].partitions).toMatchObject([{ errorCode: 0, messages: [{ undecodable }] }])
    },
  )

  it('is rejected when it has a topic that was not requested', async () => {
    await expect(decodeFetched(fetchedWith({ topicId: OTHER_ID }))).rejects.toThrow(`${OTHER_ID}, not requested`)
  })
})

it('the zero id is none', () => {
  expect(topicIdOf(Buffer.alloc(16))).toBeUndefined()
})

describe('a request', () => {
  const apiVersionOf = (definition: typeof FETCH, version: number, options: object) =>
    definition.protocol({ version })(options).request.apiVersion

  it.each([
    ['Metadata', METADATA, { topics: [] }, { 5: 5, 6: 6, 7: 6, 9: 6, 10: 10 }],
    ['Fetch', FETCH, fetchOf(ID), { 4: 4, 11: 11, 12: 11, 13: 13 }],
    ['Fetch without an id', FETCH, fetchOf(undefined), { 13: 11 }],
    ['Produce', PRODUCE, produceOf(ID), { 3: 3, 7: 7, 12: 7, 13: 13 }],
    ['Produce without an id', PRODUCE, produceOf(undefined), { 13: 7 }],
  ])('has the highest version that both the broker and this client support: %s', (_what, definition, options, used) => {
    const versions = Object.keys(used).map(Number)
    expect(Object.fromEntries(versions.map((of) => [of, apiVersionOf(definition, of, options)]))).toEqual(used)
    expect(Math.max(...definition.versions)).toBe(versions.at(-1))
  })

  it('to fetch by id has the rack of the consumer, by which the broker chooses a replica', async () => {
    const bytesOf = async (rackId?: string): Promise<Buffer> =>
      (await FETCH.protocol({ version: 13 })({ ...fetchOf(ID), rackId }).request.encode()).buffer
    // The length of the text, the text and no tagged fields end the request.
    expect((await bytesOf('zone-a')).subarray(-8).equals(Buffer.from('\u0007zone-a\0'))).toBe(true)
    expect((await bytesOf()).subarray(-2).equals(Buffer.from([1, 0]))).toBe(true)
  })

  // Batches of one byte to four bytes of size.
  it.each([0, 60, 8_100, 70_000, 3_000_000])(
    'to append by id has the batch of one by name: %d bytes',
    async (length) => {
      const options = produceOf(ID, [{ key: null, value: Buffer.alloc(length, 'x'), timestamp: '7' }, ...MESSAGES])
      const bytesOf = async (version: number): Promise<Buffer> =>
        (await PRODUCE.protocol({ version })(options).request.encode()).buffer
      const head = new Encoder().writeString(null).writeInt16(-1).writeInt32(5_000).writeInt32(1).writeString('plants')
      const batch = (await bytesOf(7)).subarray(head.writeInt32(1).writeInt32(3).writeInt32(0).buffer.length)
      // No tagged fields end partition, topic and request.
      const end = new Encoder()
        .writeUVarInt(batch.length + 1)
        .writeBuffer(batch)
        .writeBuffer(Buffer.alloc(3)).buffer
      expect((await bytesOf(13)).subarray(-end.length).equals(end)).toBe(true)
    },
  )
})
