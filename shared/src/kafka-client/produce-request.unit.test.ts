import fc from 'fast-check'
import { beforeEach, expect, it } from 'vitest'
import { fakeTimers } from '../../../tests/support/fake-timers.ts'
import { codePoints } from '../../../tests/support/generated-texts.ts'
import { createByteWriter } from './byte-codec.ts'
import { createPrivateKafkajs, kafkajsModule } from './kafkajs.ts'
import type { Message, ProduceOptions } from './produce-request.ts'
import { produceByTopicId } from './topic-ids.ts'

const FRAME = 'src/protocol/request.js'
const DEFINITION = 'src/protocol/requests/produce/index.js'
const VERSION = 7

/** kafkajs without the corrections. */
const original = createPrivateKafkajs()

type Load = typeof kafkajsModule
type Definition = ReturnType<typeof produceByTopicId>

/** The bytes that go to the socket. */
async function bytesBy(load: Load, definition: Definition, produce: ProduceOptions): Promise<Buffer> {
  const { request } = definition.protocol({ version: VERSION })(produce)
  return (await load(FRAME)({ correlationId: 7, clientId: 'a client', request })).buffer
}
const ours = (produce: ProduceOptions) => bytesBy(kafkajsModule, produceByTopicId(kafkajsModule(DEFINITION)), produce)
const byOriginal = (produce: ProduceOptions) => bytesBy(original.load, original.load(DEFINITION), produce)

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: codePoints }),
  // Lone surrogates, too, which UTF-8 cannot encode.
  fc.array(fc.integer({ min: 0xd7ff, max: 0xe000 })).map((units) => String.fromCharCode(...units)),
  fc.integer({ min: 60, max: 70 }).map((length) => 'x'.repeat(length)),
  fc.integer({ min: 30, max: 300 }).map((length) => 'ö'.repeat(length)),
)
const bytes = fc.integer({ min: 0, max: 300 }).map((length) => Buffer.alloc(length, 'long'))
const headers = fc.dictionary(fc.oneof(text, fc.constantFrom('1', '0', 'constructor', '__proto__', '')), bytes, {
  maxKeys: 4,
})
const timestamp = fc.oneof(
  fc.integer({ min: 1_795_281_883_000, max: 1_795_281_884_000 }),
  fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, -1)),
)
const message = fc.record(
  { key: fc.option(bytes), value: fc.option(bytes), headers, timestamp: timestamp.map(String) },
  { requiredKeys: ['key', 'value'] },
)
const positive = fc.integer({ min: 0, max: 2 ** 31 - 1 })
const partition = fc.record(
  { partition: positive, messages: fc.array(message, { maxLength: 4 }), firstSequence: positive },
  { requiredKeys: ['partition', 'messages'] },
)
const produce = fc.record(
  {
    ...{ acks: fc.constantFrom(-1, 0, 1), timeout: positive },
    transactionalId: fc.oneof(text, fc.constantFrom(null, '')),
    producerId: fc.oneof(fc.integer({ min: -1 }), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String)),
    producerEpoch: fc.integer({ min: 0, max: 2 ** 15 - 1 }),
    topicData: fc.array(fc.record({ topic: text, partitions: fc.array(partition, { maxLength: 2 }) }), {
      maxLength: 2,
    }),
  },
  { requiredKeys: ['acks', 'timeout', 'topicData'] },
)

beforeEach(() => fakeTimers({ toFake: ['Date'], now: 1_795_281_883_402 }))

/** Resolves with true when kafkajs writes the same bytes. */
const isSame = async (options: ProduceOptions) => (await ours(options)).equals(await byOriginal(options))

it('writes a produce request byte for byte as kafkajs does', async () => {
  await fc.assert(fc.asyncProperty(produce, isSame), { numRuns: 300 })
})

const produceOf = (messages: Message[]): ProduceOptions => ({
  acks: -1,
  timeout: 5_000,
  topicData: [{ topic: 'plants', partitions: [{ partition: 0, messages }] }],
})

const ofSize = (length: number, headers = {}): Message => ({ key: null, value: Buffer.alloc(length, 'x'), headers })
const around = (size: number) => Array.from({ length: 10 }, (_, n) => size - 14 + n)
const many = Array.from({ length: 20_000 }, (_, index) => ({ key: Buffer.from(String(index)), value: null }))
const manyHeaders = Object.fromEntries(many.map(({ key }) => [`header-${key.toString()}`, key]))

it.each<[string, Message[][]]>([
  // From each of these sizes on the varint takes one more byte.
  ...[64, 8_192, 1_048_576].map((size): [string, Message[][]] => [
    `records of about ${size} bytes`,
    around(size).flatMap((length) => [[ofSize(length)], [ofSize(length, { a: Buffer.from('b') })]]),
  ]),
  ['a batch of 20,000 records, and a record with 20,000 headers', [many, [ofSize(0, manyHeaders)]]],
  [
    'a request larger than any before, and then a small one',
    [3, 5 * 1_048_576, 100, 70_000, 3].map((n) => [ofSize(n)]),
  ],
])('writes %s as kafkajs does', async (_what, batches) => {
  for (const messages of batches) expect(await isSame(produceOf(messages))).toBe(true)
})

const INITIAL_BYTES = 64 * 1_024

it('grows its buffer at any point of a record or batch without losing a byte', () => {
  function writtenBehind(filler: number): Buffer {
    const writer = createByteWriter()
    writer.start()
    writer.buffer(Buffer.alloc(filler))
    const start = writer.openSize()
    const short = writer.openVarSize()
    writer.int8(1)
    writer.varLong(2n ** 62n)
    for (const text of ['a name', null]) writer.string(text)
    for (const text of ['longer than a number', null]) writer.compactString(text)
    writer.closeCompactSize(short)
    const long = writer.openVarSize()
    for (const value of [1n, -1n]) writer.int64(value)
    writer.buffer(Buffer.alloc(8_192, 'x'))
    writer.closeVarIntSize(long)
    writer.closeSize(start)
    return writer.finish().subarray(filler)
  }
  const written = writtenBehind(0)
  // It has to grow among the last of what is written, or among the first.
  for (const first of [INITIAL_BYTES - written.length, INITIAL_BYTES - 100])
    for (let filler = first; filler <= first + 100; filler++) expect(writtenBehind(filler).equals(written)).toBe(true)
})

it('rejects an invalid timestamp, also between two valid ones, where kafkajs ignores it, and writes the next request', async () => {
  const messages = (...all: string[]) => all.map((timestamp) => ({ key: null, value: null, timestamp }))
  await expect(ours(produceOf(messages('now')))).rejects.toThrow(SyntaxError)
  await expect(ours(produceOf(messages('1', '1st', '2')))).rejects.toThrow(RangeError)
  expect(await isSame(produceOf(messages('1')))).toBe(true)
})
