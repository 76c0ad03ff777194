import { connect } from 'node:net'
import { expect, inject, it, onTestFinished } from 'vitest'
import { createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { openKafkaProxy } from '../../../tests/support/kafka-proxy.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { recreateTopic } from '../../../tests/support/recreated-topic.ts'
import { createTestTopic, setTopicConfig, type TestTopic } from '../../../tests/support/topic.ts'
import type { NewRecord } from '../plant/plant-created.ts'
import type { Partition } from '../plant/position.ts'
import { type Appender, createAppender } from './append.ts'
import { AppendRefused } from './broker-errors.ts'
import type { TopicId } from './log-identity.ts'
import { checkTopic } from './topic.ts'

const PARTITIONS = 3
const NOBODY_LISTENS = 1
/** The API key of a produce request. */
const PRODUCE = 0

async function openAppender({ kafka, topic }: TestTopic, topicId?: TopicId) {
  const appender = createAppender(kafka, topic, topicId)
  await appender.connect()
  onTestFinished(() => appender.close())
  return appender
}

const batches = (...records: NewRecord[]) => Map.groupBy(records, ({ partition }) => partition)
const recordIn = (partition: number) => ({ ...newEvent(1n, PARTITIONS), partition: partition as Partition })
/** The only broker of the tests leads all partitions. */
const leaderOf = (appender: Appender) => appender.leaderOf(0 as Partition) as number
const openTopic = () => createTestTopic(inject('kafkaBrokers'), PARTITIONS)

it('nothing is appended to a new topic of the same name by its former id', async () => {
  const topic = await openTopic()
  const { topicId } = await checkTopic(topic.kafka, topic)
  const appender = await openAppender(topic, topicId)
  await appender.append([recordIn(0)])
  await recreateTopic(topic, 5)
  const { ends } = await checkTopic(topic.kafka, topic)
  for (let attempt = 0; attempt < 3; attempt++) {
    const cause = expect.objectContaining({ type: 'UNKNOWN_TOPIC_OR_PARTITION' })
    await expect(appender.append([recordIn(0)])).rejects.toMatchObject({ cause })
  }
  expect((await checkTopic(topic.kafka, topic)).ends).toEqual(ends)
})

it('a request has a result of each partition: the base offset if the topic id is known', async () => {
  const topic = await openTopic()
  const { topicId } = await checkTopic(topic.kafka, topic)
  await setTopicConfig(topic, { 'max.message.bytes': '3000' })
  const appender = await openAppender(topic, topicId)
  const large = { ...recordIn(1), value: Buffer.alloc(4_000) }
  const message = `the records are larger than Kafka accepts: raise max.message.bytes of topic ${topic.topic}`
  const cause = expect.objectContaining({ name: 'AppendRefused', message })
  expect([...(await appender.send(leaderOf(appender), 'healthy', batches(recordIn(0), recordIn(0), large)))]).toEqual([
    [0, { is: 'appended', base: 0 }],
    [1, { is: 'refused', why: 'records', cause }],
  ])
  expect([...(await appender.send(leaderOf(appender), 'suspect', batches(recordIn(0), recordIn(1))))]).toEqual([
    [0, { is: 'appended', base: 2 }],
    [1, { is: 'appended', base: 0 }],
  ])
  await expect(appender.append([large])).rejects.toThrow(AppendRefused)
  const byName = await openAppender(topic)
  const results = await byName.send(leaderOf(byName), 'healthy', batches(recordIn(0)))
  expect([...results]).toEqual([[0, { is: 'appended', base: undefined }]])
})

it('an attempt ends at its signal, and the next one connects again', async () => {
  const topic = await openTopic()
  const { kafka, spoilNext } = await openKafkaProxy({ requestTimeoutMs: 5_000 })
  const appender = await openAppender({ ...topic, kafka })
  const leader = leaderOf(appender)
  const attempt = (signal?: AbortSignal) => appender.send(leader, 'healthy', batches(recordIn(0)), signal)
  const given = new AbortController()
  const lost = spoilNext(PRODUCE, 'has no response')
  const sent = attempt(given.signal)
  await lost
  given.abort(new Error('the client has left'))
  const cause = expect.objectContaining({ message: 'the client has left' })
  expect(await sent).toEqual(new Map([[0, { is: 'unknown', cause }]]))
  expect(await attempt(given.signal)).toMatchObject(new Map([[0, { is: 'refused', why: 'transient' }]]))
  expect(await attempt()).toMatchObject(new Map([[0, { is: 'appended' }]]))
})

it('the first append connects when Kafka could not be reached before', async () => {
  const topic = await openTopic()
  let isReachable = false
  const kafka = createImpatientKafka(inject('kafkaBrokers'), {
    ...{ requestTimeout: 5_000, connectionTimeout: 5_000 },
    socketFactory: ({ host, port, onConnect }) => connect(isReachable ? port : NOBODY_LISTENS, host, onConnect),
  })
  const appender = await openAppender({ ...topic, kafka })
  isReachable = true
  await appender.append([recordIn(0)])
})
