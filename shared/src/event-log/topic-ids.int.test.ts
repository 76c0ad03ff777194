import { expect, inject, it, vi } from 'vitest'
import { asKafkajs } from '../../../tests/support/as-kafkajs.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { openTransactional } from '../../../tests/support/other-producers.ts'
import { openConsumer } from '../../../tests/support/scripted-broker.ts'
import { createPrivateKafkajs, kafkajs } from '../kafka-client/kafkajs.ts'
import type { TopicId } from '../kafka-client/topic-id.ts'
import { checkTopic } from './topic.ts'

const WAIT_MS = 20_000
/** kafkajs without the corrections. */
const original: typeof kafkajs = createPrivateKafkajs().load('index.js')

type Metadata = {
  topicMetadata: {
    topic: string
    partitionMetadata: { topicId?: string; topicOperations?: number; leaderEpoch?: number }[]
  }[]
}
type Fetched = { responses: { topicName: string; partitions: { messages: object[] }[] }[] }
type Broker = { metadata(topics: string[]): Promise<Metadata>; fetch(options: object): Promise<Fetched> }

/** A broker connection as consumers of this kafkajs use it. */
async function openBroker({ Kafka, logLevel }: typeof kafkajs) {
  const brokers = inject('kafkaBrokers').split(',')
  const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, connectionTimeout: 20_000, retry: { retries: 0 } })
  const { consumer, cluster } = await openConsumer(kafka)
  const versions: Record<string, number> = {}
  consumer.on(consumer.events.REQUEST, ({ payload: { apiName, apiVersion } }) => {
    versions[apiName] = apiVersion
  })
  return { broker: (await cluster.findControllerBroker()) as unknown as Broker, consumer, versions }
}

async function openBoth() {
  const [ours, theirs] = [await openBroker(kafkajs), await openBroker(original)]
  return { ours, theirs }
}

function withoutIds(metadata: Metadata): Metadata {
  for (const { partitionMetadata } of metadata.topicMetadata) {
    for (const each of partitionMetadata) {
      delete each.topicId
      delete each.topicOperations
      delete each.leaderEpoch
    }
  }
  return metadata
}

it('metadata is that of the original kafkajs plus topic ids, epochs of leaders and authorized operations', async () => {
  const [one, other] = [await openTopic(1), await openTopic(3)]
  const { ours, theirs } = await openBoth()
  const all = [one.topic, other.topic]
  /** Kafka returns topics in any order, and other tests create topics meanwhile. */
  const own = ({ topicMetadata, ...others }: Metadata) => ({
    ...others,
    topicMetadata: topicMetadata
      .filter(({ topic }) => all.includes(topic))
      .toSorted((a, b) => (a.topic < b.topic ? -1 : 1)),
  })
  for (const topics of [[one.topic], all, []]) {
    const [mine, plain] = [own(await ours.broker.metadata(topics)), own(await theirs.broker.metadata(topics))]
    // Without names, of all topics.
    expect(mine.topicMetadata).toHaveLength(topics.length || all.length)
    for (const { topic, partitionMetadata } of mine.topicMetadata) {
      const ids = new Set(partitionMetadata.map(({ topicId }) => topicId))
      expect([topic, [...ids]]).toEqual([topic, [expect.stringMatching(/^[\w-]{22}$/)]])
    }
    expect(withoutIds(mine)).toEqual(plain)
  }
  expect([ours.versions.Metadata, theirs.versions.Metadata]).toEqual([10, 6])
})

it.each([['no-such-topic'], ['no topic has a name like this']])(
  'the metadata of %j fails as in the original kafkajs',
  async (name) => {
    const { ours, theirs } = await openBoth()
    const failure = await theirs.broker.metadata([name]).catch((error: unknown) => error)
    expect(failure).toMatchObject({ type: expect.stringMatching(/TOPIC/) })
    await expect(ours.broker.metadata([name])).rejects.toMatchObject({ ...(failure as object) })
  },
)

/** A topic of two partitions with claims, committed and aborted transactions. */
async function openMixedTopic() {
  const topic = await openTopic(2)
  await topic.append(60)
  const producer = await openTransactional(topic.kafka)
  for (const end of ['abort', 'commit', 'abort'] as const) {
    const transaction = await producer.transaction()
    const messages = [1n, 2n, 3n, 4n].map((id) => newEvent(id, 2))
    await transaction.send({ topic: topic.topic, messages })
    await transaction[end]()
  }
  // The control record of a transaction is written after the response to its end.
  const { topicId } = await vi.waitFor(async () => {
    const state = await checkTopic(topic.kafka, topic)
    expect(state.openTransactions).toEqual([])
    return state
  }, WAIT_MS)
  return { ...topic, topicId: topicId as TopicId }
}

function fetchOf(topic: string, fetchOffset: string) {
  const partitions = [0, 1].map((partition) => ({ partition, fetchOffset, maxBytes: 1_048_576 }))
  const limits = { maxWaitTime: 100, minBytes: 1, maxBytes: 10_485_760, isolationLevel: 1, rackId: '' }
  return { ...limits, topics: [{ topic, partitions }] }
}

function inOrder({ responses, ...others }: Fetched) {
  const parts = responses.flatMap(({ topicName, partitions }) =>
    partitions.map((partition) => ({ topicName, ...partition, messages: asKafkajs(partition.messages) })),
  )
  return { ...others, parts: parts.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) }
}

it('a fetch by id returns what a fetch of the original kafkajs returns by name', async () => {
  const { topic, topicId } = await openMixedTopic()
  const { ours, theirs } = await openBoth()
  ours.consumer.readFor({ topicIdOf: (name) => (name === topic ? topicId : undefined) })
  for (const from of ['0', '7', '20']) {
    const mine = await ours.broker.fetch(fetchOf(topic, from))
    const plain = await theirs.broker.fetch(fetchOf(topic, from))
    expect(plain.responses.flatMap(({ partitions }) => partitions[0]?.messages).length).toBeGreaterThan(5)
    expect(inOrder(mine)).toEqual(inOrder(plain))
  }
  expect([ours.versions.Fetch, theirs.versions.Fetch]).toEqual([13, 11])
  const beyond = fetchOf(topic, '9000')
  const failure = await theirs.broker.fetch(beyond).catch((error: unknown) => error)
  expect(failure).toMatchObject({ type: 'OFFSET_OUT_OF_RANGE', topic })
  await expect(ours.broker.fetch(beyond)).rejects.toMatchObject({ type: 'OFFSET_OUT_OF_RANGE', topic })

  // Brokers reject this isolation level. From version 13 on the response has the error once, and no partitions.
  const wrong = { ...fetchOf(topic, '0'), isolationLevel: 7 }
  const ofAll = await theirs.broker.fetch(wrong).catch((error: unknown) => error)
  expect(ofAll).toMatchObject({ type: expect.any(String) })
  await expect(ours.broker.fetch(wrong)).rejects.toMatchObject({ type: (ofAll as { type: string }).type })
})
