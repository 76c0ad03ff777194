import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { followLog } from '../../../tests/support/followed-log.ts'
import { newPlant } from '../../../tests/support/generated-plants.ts'
import { createCuttableKafka, createImpatientKafka } from '../../../tests/support/impatient-kafka.ts'
import { startOwnKafka } from '../../../tests/support/own-stores.ts'
import { recreateTopic } from '../../../tests/support/recreated-topic.ts'
import { createTestTopic, type TestTopic } from '../../../tests/support/topic.ts'
import type { EventId } from '../plant/event-id.ts'
import { plantCreated } from '../plant/plant-created.ts'
import { createAppender } from './append.ts'
import type { TopicId } from './log-identity.ts'
import { checkTopic } from './topic.ts'

const PARTITIONS = 3
const WAIT_MS = 40_000
const NOBODY_LISTENS = 1

async function openAppender({ kafka, topic }: TestTopic, topicId?: TopicId) {
  const appender = createAppender(kafka, topic, topicId)
  await appender.connect()
  onTestFinished(() => appender.close())
  return appender
}

const recordOf = (id: bigint) => plantCreated(newPlant(id), randomUUID() as EventId, PARTITIONS)

describe('appending', () => {
  it('writes each record unchanged to its partition', async () => {
    const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
    const appender = await openAppender(topic)
    const records = Array.from({ length: 30 }, (_, id) => recordOf(BigInt(id)))
    await appender.append(records)
    const followed = followLog(topic)
    const found = () =>
      followed.delivered.flatMap(({ partition, records }) => records.map((record) => ({ partition, record })))
    await vi.waitFor(() => expect(found()).toHaveLength(30), WAIT_MS)
    const positions = found().map(({ partition, record }) => [String(record.claim?.eventId), partition] as const)
    expect(new Map(positions)).toEqual(
      new Map(records.map(({ headers, partition }) => [String(headers.ce_id), partition])),
    )
  })

  it('returns the base offset of each partition when it knows the topic id, and nothing without it', async () => {
    const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
    const { topicId } = await checkTopic(topic.kafka, topic)
    const [byId, byName] = [await openAppender(topic, topicId), await openAppender(topic)]
    const records = Array.from({ length: 30 }, (_, id) => recordOf(BigInt(id)))
    const countOf = (partition: number) => records.filter((record) => record.partition === partition).length
    expect(await byId.append(records)).toEqual(new Map([0, 1, 2].map((partition) => [partition, 0])))
    expect(await byName.append(records)).toBeUndefined()
    expect(await byId.append(records)).toEqual(
      new Map([0, 1, 2].map((partition) => [partition, 2 * countOf(partition)])),
    )
  })

  it('appends nothing to a new topic of the same name when it knows the topic id', async () => {
    const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
    const { topicId } = await checkTopic(topic.kafka, topic)
    const appender = await openAppender(topic, topicId)
    await appender.append([recordOf(1n)])
    await recreateTopic(topic, 5)
    const { ends } = await checkTopic(topic.kafka, topic)
    for (let attempt = 0; attempt < 3; attempt++)
      await expect(appender.append([recordOf(1n)])).rejects.toMatchObject({
        cause: { type: 'UNKNOWN_TOPIC_OR_PARTITION' },
      })
    expect((await checkTopic(topic.kafka, topic)).ends).toEqual(ends)
  })

  it('does not create a missing topic', async () => {
    const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
    const appender = await openAppender({ ...topic, topic: `plants-${randomUUID()}` })
    await expect(appender.append([recordOf(1n)])).rejects.toThrow()
  })

  it('works again after the broker hung and a new connection to it failed', async () => {
    const { brokers, pause, resume } = await startOwnKafka()
    const { topic, partitions } = await createTestTopic(brokers, PARTITIONS)
    const kafka = createImpatientKafka(brokers)
    const appender = await openAppender({ kafka, topic, partitions })
    await appender.append([recordOf(1n)])
    await pause()
    await expect(appender.append([recordOf(1n)])).rejects.toThrow()
    await expect(appender.append([recordOf(2n)])).rejects.toThrow()
    await resume()
    const last = recordOf(3n)
    await vi.waitFor(() => appender.append([last]), WAIT_MS)
    const followed = followLog({ kafka, topic, partitions })
    await vi.waitFor(() => {
      const eventIds = followed.delivered.flatMap(({ records }) => records.map(({ claim }) => claim?.eventId))
      expect(eventIds).toContain(String(last.headers.ce_id))
    }, WAIT_MS)
  })

  it('connects at its first append when Kafka could not be reached before', async () => {
    const topic = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
    let isReachable = false
    const kafka = createImpatientKafka(inject('kafkaBrokers'), {
      socketFactory: ({ host, port, onConnect }) => connect(isReachable ? port : NOBODY_LISTENS, host, onConnect),
    })
    const appender = await openAppender({ ...topic, kafka })
    isReachable = true
    await appender.append([recordOf(1n)])
  })

  it('works again after a connection that died without being closed', async () => {
    const { topic, partitions } = await createTestTopic(inject('kafkaBrokers'), PARTITIONS)
    const { kafka, cut } = createCuttableKafka(inject('kafkaBrokers'))
    const appender = await openAppender({ kafka, topic, partitions })
    await appender.append([recordOf(1n)])
    cut()
    await expect(appender.append([recordOf(2n)])).rejects.toThrow()
    await appender.append([recordOf(3n)])
  })
})
