import { expect, inject, it, onTestFinished } from 'vitest'
import { deleteTopic } from '../../../tests/support/backups.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { type Fate, openKafkaProxy } from '../../../tests/support/kafka-proxy.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { replayed } from '../../../tests/support/raw-records.ts'
import { appendTo, createTestTopic, type TestTopic } from '../../../tests/support/topic.ts'
import type { Offset, Partition } from '../plant/position.ts'
import { PreconditionError } from '../runtime/failures.ts'
import type { Kafka } from './connection.ts'
import { openExactWriter } from './exact-writer.ts'
import { createLatchedTopic } from './latch.ts'
import { rawRecordOf } from './raw-record.ts'
import { readEnds } from './topic.ts'

const PARTITION = 0 as Partition
/** The API keys of the requests that write. */
const REQUESTS = { 'a produce request': 0, AddPartitionsToTxn: 24, EndTxn: 26 }
const FATES: Fate[] = ['loses the connection', 'has no response', 'arrives after its repetition']

const at = (offset: number) => offset as Offset
const openTopic = () => createTestTopic(inject('kafkaBrokers'), 1)

/** A writer that has taken a topic over; it ends with the test. */
async function openWriter(topic: TestTopic, kafka: Kafka = topic.kafka) {
  // The broker may learn of a topic later than the controller.
  const { topicId } = await eventually(() => readEnds(topic.kafka, topic.topic))
  const writer = await openExactWriter(kafka, topic.topic, topicId)
  onTestFinished(() => writer.close())
  const end = await writer.takeOver(PARTITION)
  return { ...writer, end }
}

/** One record for each offset from `from` to before `end`, with the offset as its key. */
const messages = (from: number, end: number) =>
  Array.from({ length: end - from }, (_, n) => ({ key: Buffer.from(String(from + n)), value: null }))

const readRaw = (topic: TestTopic) => replayed(topic, (_record, _partition, decoded) => rawRecordOf(decoded))

/** The offset and the key of each record, and the end. */
async function contentOf(topic: TestTopic) {
  const { found, ends } = await readRaw(topic)
  return { end: ends[0], found: found.map(({ offset, key }) => [offset, String(key)]) }
}

const foundOf = (written: ReturnType<typeof messages>) => written.map(({ key }) => [Number(key), String(key)])

const cases = Object.entries(REQUESTS).flatMap(([name, apiKey]) => FATES.map((fate) => ({ name, fate, apiKey })))

it.each(cases)('$name that $fate: each record is written once, at its offset', async ({ fate, apiKey }) => {
  const topic = await openTopic()
  const proxy = await openKafkaProxy()
  const writer = await openWriter(topic, proxy.kafka)
  await writer.write(PARTITION, messages(0, 10), at(0))
  const suffered = proxy.spoilNext(apiKey, fate)
  await writer.write(PARTITION, messages(10, 15), at(10))
  await writer.skip(PARTITION, at(15), at(18))
  await suffered
  await writer.write(PARTITION, messages(18, 20), at(18))
  await writer.skip(PARTITION, at(20), at(21))
  expect(await contentOf(topic)).toEqual({ found: foundOf([...messages(0, 15), ...messages(18, 20)]), end: 21 })
})

it('writes timestamps of 64 bits exactly', async () => {
  const topic = await openTopic()
  await deleteTopic(topic)
  await createLatchedTopic(topic.kafka, topic, new Map(), 1_000)
  const writer = await openWriter(topic)
  const timestamps = ['1795281883402123457', '1795281883402123999', '1795281883402', '0', '9223372036854775807']
  const records = timestamps.map((timestamp) => ({ key: Buffer.from('7'), value: null, timestamp }))
  await writer.write(PARTITION, records, at(0))
  expect((await readRaw(topic)).found.map(({ timestamp }) => timestamp)).toEqual(timestamps)
})

it.each(['a record', 'a gap'])('before %s, a writer notices a record of another program', async (what) => {
  const topic = await openTopic()
  const writer = await openWriter(topic)
  await writer.write(PARTITION, messages(0, 5), at(0))
  await appendTo(topic, [newEvent(7n, 1)])
  const next = what === 'a gap' ? writer.skip(PARTITION, at(5), at(8)) : writer.write(PARTITION, messages(5, 6), at(5))
  const another = `partition 0 of ${topic.topic}: a batch was written at offset 6 instead of 5: another program writes`
  const notices = { name: 'PreconditionError', message: expect.stringContaining(another) }
  await expect(next).rejects.toMatchObject(notices)
})

it.each([
  ['AddPartitionsToTxn', REQUESTS.AddPartitionsToTxn, 105, 6],
  ['a produce request', REQUESTS['a produce request'], 105, 105],
  ['the first EndTxn of a long gap', REQUESTS.EndTxn, 40_005, 20_005],
])('a writer that takes over after %s of an earlier one ends its transaction', async (_, apiKey, gapEnd, end) => {
  const topic = await openTopic()
  // The earlier writer would repeat its request before the later one has taken over.
  const proxy = await openKafkaProxy({ requestTimeoutMs: 10_000 })
  const earlier = await openWriter(topic, proxy.kafka)
  await earlier.write(PARTITION, messages(0, 5), at(0))
  const suffered = proxy.spoilNext(apiKey, 'has no response')
  const skipped = expect(earlier.skip(PARTITION, at(5), at(gapEnd))).rejects.toThrow(
    new PreconditionError(`partition 0 of ${topic.topic}: another plantctl restore has taken over`),
  )
  await suffered
  const later = await openWriter(topic)
  expect(later.end).toBe(end)
  await skipped
  await later.write(PARTITION, messages(end, end + 5), at(end))
  const found = foundOf([...messages(0, 5), ...messages(end, end + 5)])
  expect(await contentOf(topic)).toEqual({ found, end: end + 5 })
})
