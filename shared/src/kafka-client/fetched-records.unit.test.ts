import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { compressedRecords } from '../../../tests/support/compressed-records.ts'
import { codePoints } from '../../../tests/support/generated-texts.ts'
import { type DecodedRecord, headerListOf, headersOf, undecodableIn } from './fetched-records.ts'
import { createPrivateKafkajs, kafkajs, kafkajsModule } from './kafkajs.ts'

/** kafkajs without the corrections. */
const original = createPrivateKafkajs()
const { ZSTD, GZIP, None } = kafkajs.CompressionTypes
const zstd = {
  compress: async ({ buffer }: { buffer: Buffer }) => zstdCompressSync(buffer),
  decompress: async (bytes: Buffer) => zstdDecompressSync(bytes),
}
original.load('src/protocol/message/compression/index.js').Codecs[ZSTD] = () => zstd
const DECODE_MESSAGES = 'src/protocol/requests/fetch/v4/decodeMessages.js'
const Encoder = original.load('src/protocol/encoder.js')
const encodeHeader = original.load('src/protocol/recordBatch/header/v0/index.js')
const { RecordBatch } = original.load('src/protocol/recordBatch/v0/index.js')

type Headers = [name: string, value: Buffer | null][]
type Content = Buffer | null
type Message = { key?: Content; value?: Content; headers?: Headers; timestampDelta?: bigint; offsetDelta?: number }
type BatchFields = { compression?: number; [field: string]: unknown }

/** Built from the parts of kafkajs, because its record encoder does not support headers without a value. */
function recordOf({ key = null, value = null, headers = [], timestampDelta = 5n, offsetDelta = 7 }: Message) {
  const body = new Encoder()
    .writeInt8(0)
    .writeVarLong(timestampDelta)
    .writeVarInt(offsetDelta)
    .writeVarIntBytes(key)
    .writeVarIntBytes(value)
    .writeVarIntArray(headers.map(([name, content]) => encodeHeader({ key: name, value: content })))
  return new Encoder().writeVarIntBytes(body.buffer)
}

const ATTRIBUTES_AT = 21

async function batchOf(messages: Message[], fields: BatchFields = {}, attributes = 0): Promise<Buffer> {
  const encoder = await RecordBatch({ records: messages.map(recordOf), ...fields })
  const bytes = Buffer.from(encoder.buffer)
  bytes.writeInt16BE(bytes.readInt16BE(ATTRIBUTES_AT) | attributes, ATTRIBUTES_AT)
  return bytes
}

/** Decodes the records of a partition in a fetch response. */
function fetchedBy(load: typeof kafkajsModule, batches: Buffer): Promise<DecodedRecord[]> {
  const size = Buffer.alloc(4)
  size.writeInt32BE(batches.length)
  const Decoder = load('src/protocol/decoder.js')
  return load(DECODE_MESSAGES)(new Decoder(Buffer.concat([size, batches])))
}
const fetched = (batches: Buffer) => fetchedBy(kafkajsModule, batches)
/** The parts of records that are used here. */
const partsOf = (records: DecodedRecord[]) =>
  records.map(({ timestamp, offset, key, value, headers, isControlRecord, batchContext }) => {
    const { producerId, inTransaction } = batchContext
    return { timestamp, offset, key, value, headers, isControlRecord, producerId, inTransaction }
  })
const undecodable = async (batches: Buffer) => {
  const records = await fetched(batches)
  expect(records).toHaveLength(1)
  return { ...undecodableIn(records), cause: undecodableIn(records)?.cause as Error }
}

const FIELDS = { firstOffset: 1_000n, firstTimestamp: 1_795_281_883_402n, maxTimestamp: 1_795_281_883_999n }
const one = Buffer.from('1')

const LOG_APPEND_TIME = 0x08
const CONTROL = 0x20

const content = fc.option(fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)))
/** The names that every event has, and others. Inherited names are left out: kafkajs decodes those wrongly. */
const name = fc
  .oneof(fc.constantFrom('ce_id', 'ce_type', 'ce_source'), fc.string({ unit: codePoints, maxLength: 70 }))
  .filter((text) => !(text in {}))
const int64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.integer({ min: 0, max: 2 ** 42 }).map(BigInt),
  // Values whose varint takes one byte more, or does not fit into 28 or 32 bits or a number.
  fc.constantFrom(0n, 63n, -64n, 2n ** 27n - 1n, 2n ** 27n, -(2n ** 27n), 2n ** 31n, 2n ** 34n - 1n, 2n ** 53n + 1n),
)
/** Begins the key of a control record: without it, the batch is damaged. */
const MARKER = Buffer.alloc(4)
const message = fc.record({
  key: content,
  value: content,
  headers: fc.array(fc.tuple(name, content), { maxLength: 8 }),
  timestampDelta: int64,
  offsetDelta: fc.oneof(fc.nat(50), fc.integer({ min: 0, max: 2 ** 31 - 1 })),
})
const batch = fc
  .tuple(
    fc.array(message, { maxLength: 3 }),
    fc.record({
      ...{ firstOffset: int64, firstTimestamp: int64, maxTimestamp: int64, producerId: int64 },
      ...{ lastOffsetDelta: fc.nat(), transactional: fc.boolean(), compression: fc.constantFrom(None, GZIP, ZSTD) },
    }),
    fc.constantFrom(0, LOG_APPEND_TIME, CONTROL, LOG_APPEND_TIME | CONTROL),
  )
  .map(([messages, fields, attributes]) => {
    const markers = messages.map((one) => ({ ...one, key: Buffer.concat([MARKER, one.key ?? Buffer.alloc(0)]) }))
    return { bytes: batchOf((attributes & CONTROL) === 0 ? messages : markers, fields, attributes) }
  })
const batches = fc.array(batch, { maxLength: 3 })

it('reads the complete batches of a fetch, which may be truncated, as kafkajs does', async () => {
  await fc.assert(
    fc.asyncProperty(batches, fc.option(fc.nat()), async (all, end) => {
      const log = Buffer.concat(await Promise.all(all.map((each) => each.bytes)))
      const read = end === null || log.length === 0 ? log : log.subarray(0, end % log.length)
      fc.pre(read === log || read.length > ATTRIBUTES_AT)
      // Without what stands for batches without records.
      const records = (await fetched(read)).filter(({ batchContext }) => batchContext !== undefined)
      expect(partsOf(records)).toEqual(partsOf(await fetchedBy(original.load, read)))
    }),
    { numRuns: 500 },
  )
})

const LENGTH_AT = 8
/** The length field counts the bytes from here on. */
const COUNTED_FROM = 12
const MAGIC_AT = 16
const COUNT_AT = 57
const RECORDS_AT = 61

it('reads nothing of a fetch that ends within the header of its first batch', async () => {
  const batch = await batchOf([{ value: one }])
  for (let end = 0; end <= ATTRIBUTES_AT; end++) expect(await fetched(batch.subarray(0, end))).toEqual([])
})

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
type Damaged = [what: string, messages: Message[], at: number, bytes: Buffer, cause: string]

it.each<Damaged>([
  ['of fewer records than it counts', [{ value: one }], COUNT_AT, int32(2), 'end within a value'],
  // The last byte is the value of the only header, the byte before it the length of that value.
  ['that ends within a header', [{ headers: [['a', one]] }], -2, Buffer.of(2 << 1), 'end within a value'],
  // The last bytes are the length of the value, the value and the number of headers.
  ['with a value too short', [{ value: one }], -3, Buffer.of(0), 'does not end at'],
  ['with a value too long', [{ value: one }, { value: Buffer.alloc(20) }], -30, Buffer.of(10 << 1), 'does not end at'],
  ...[-2_147_483_648, -13, -12, -1, 0, 9, 48].map(
    (length): Damaged => [`whose length field is ${length}`, [], LENGTH_AT, int32(length), 'has only'],
  ),
  ...[0, 1, 3].map(
    (format): Damaged => [`of the format ${format}`, [{}], MAGIC_AT, Buffer.of(format), `has the format ${format}`],
  ),
])('reports a batch %s, wherever the fetch starts', async (_what, messages, at, bytes, cause) => {
  const before = await batchOf([{ value: one }], { firstOffset: 900n })
  const batch = await batchOf(messages, FIELDS)
  bytes.copy(batch, at < 0 ? batch.length + at : at)
  const damaged = Buffer.concat([batch, before])
  expect((await undecodable(damaged)).cause.message).toContain(cause)
  expect((await fetched(Buffer.concat([before, damaged]))).map(({ offset }) => offset)).toEqual(['907'])
})

it.each([
  ['gzip', 1],
  ['unknown codec', 5],
])('names the offset and the codec of a batch that cannot be decoded: %s', async (codec, attributes) => {
  const damaged = await batchOf([{ value: one }], FIELDS, attributes)
  expect(await undecodable(damaged)).toMatchObject({ offset: '1000', codec })
})

it('leaves batches to the next fetch that would be more than 64 MiB together', async () => {
  const large = await batchOf([{ value: Buffer.alloc(40 * 1_048_576) }], { compression: ZSTD })
  expect(await fetched(Buffer.concat([large, large, large]))).toHaveLength(2)
  const tooLarge = await batchOf([{ value: Buffer.alloc(64 * 1_048_576) }], { compression: ZSTD })
  expect(await undecodable(tooLarge)).toMatchObject({ offset: '0', codec: 'Zstandard' })
})

/** The codecs in Kafka's settings, by their numbers. */
const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const [COMPRESSED_AT, COMPRESSED_EVENTS] = [1_700_000_000_000n, 400]

async function readEvents(codec: string, records: Buffer) {
  const times = { firstTimestamp: COMPRESSED_AT, maxTimestamp: COMPRESSED_AT }
  const header = (await batchOf([], times, CODECS.indexOf(codec))).subarray(0, RECORDS_AT)
  const batch = Buffer.concat([header, records])
  batch.writeInt32BE(batch.length - COUNTED_FROM, LENGTH_AT)
  batch.writeInt32BE(COMPRESSED_EVENTS, COUNT_AT)
  return (await fetched(batch)).map(({ key, value, headers, timestamp }) => ({ key, value, headers, timestamp }))
}

it('reads the same events as compressed by each encoder', async () => {
  const [first, ...others] = await Promise.all(
    compressedRecords.map(({ codec, records }) => readEvents(codec, records)),
  )
  expect(first?.map(({ key }) => String(key))).toEqual(Array.from({ length: 400 }, (_, n) => String(n + 1)))
  for (const [n, events] of others.entries()) expect(events, compressedRecords[n + 1]?.by).toEqual(first)
})

it('reads a batch of 200,000 records', async () => {
  const many = 200_000
  const one = await batchOf([{ offsetDelta: 0 }])
  const record = one.subarray(RECORDS_AT)
  const batch = Buffer.concat([one, Buffer.alloc((many - 1) * record.length, record)])
  batch.writeInt32BE(batch.length - COUNTED_FROM, LENGTH_AT)
  batch.writeInt32BE(many, COUNT_AT)
  expect(await fetched(batch)).toHaveLength(many)
})

it('reads batches without records as a control record at their end, and decompresses nothing', async () => {
  const empty = await batchOf([], { firstOffset: 1_000n, lastOffsetDelta: 4 }, GZIP)
  const next = await batchOf([{ value: one }], { firstOffset: 1_005n })
  expect(await fetched(Buffer.concat([empty, next.subarray(0, -1)]))).toMatchObject([
    { offset: '1004', isControlRecord: true },
  ])
  expect((await fetched(Buffer.concat([empty, next]))).map(({ offset }) => offset)).toEqual(['1012'])
})

it('does not take a header name of invalid UTF-8 for the name that the previous record had there', async () => {
  const [before, after] = [await batchOf([{ headers: [['é', one]] }]), await batchOf([{ headers: [['e', one]] }])]
  const nameAt = after.lastIndexOf('e')
  after[nameAt] = 'é'.charCodeAt(0)
  const names = (await fetched(Buffer.concat([before, after]))).map(({ headers }) => Object.keys(headers))
  expect(names).toEqual([['é'], ['\ufffd']])
})

const decoded = async (headers: Headers) => (await fetched(await batchOf([{ headers }])))[0] as DecodedRecord

it('reads headers whose names objects inherit, without setting the prototype', async () => {
  const sent: Headers = ['__proto__', 'constructor', 'toString'].map((name) => [name, one])
  const { headers } = await decoded(sent)
  expect(Object.entries(headers)).toEqual(sent)
  expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
})

it('keeps the order and the repetitions of headers beside their names', async () => {
  const headers: Headers = ['b', 'a', 'b'].map((name, n) => [name, n === 2 ? null : one])
  const record = await decoded(headers)
  const list = headerListOf(record)
  expect(list).toEqual(headers.map(([name, value]) => [Buffer.from(name), value]))
  expect(headersOf(list)).toEqual(record.headers)
})

it('reads a record with 100,000 headers', async () => {
  const many = Array.from({ length: 100_000 }, (_, index): Headers[number] => [`header-${index}`, null])
  expect(Object.keys((await decoded(many)).headers)).toHaveLength(many.length)
})
