import { randomUUID } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { newEvent } from '../../../tests/support/new-events.ts'
import {
  appendTo,
  createTestTopic,
  deleteRecords,
  setPartitions,
  setTopicConfig,
  type TestTopic,
} from '../../../tests/support/topic.ts'
import type { Offset } from '../plant/position.ts'
import { PreconditionError } from '../runtime/failures.ts'
import { withAdmin } from './connection.ts'
import { checkTopic, createTopic, readEnds, TABLE } from './topic.ts'

const PARTITIONS = 3

const openTopic = () => createTestTopic(inject('kafkaBrokers'), PARTITIONS)
const check = ({ kafka, ...settings }: TestTopic) => checkTopic(kafka, settings)

const KEPT = { 'retention.ms': '-1', 'retention.bytes': '-1', 'cleanup.policy': 'delete' }
const set = (topic: TestTopic, name: string, value: string) => setTopicConfig(topic, { ...KEPT, [name]: value })

describe('a topic created here', () => {
  it('is empty, passes the check, and has warnings where production needs more', async () => {
    const { ends, warnings } = await check(await openTopic())
    expect(ends).toEqual([0, 0, 0])
    expect(warnings).toEqual([
      expect.stringMatching(/it was created with 1 replica, .*; use 3 in production/),
      expect.stringMatching(/min\.insync\.replicas is 1: set it to 2 in production/),
    ])
  })

  it('is not created again', async () => {
    const { kafka, topic } = await openTopic()
    expect(await createTopic(kafka, { topic, partitions: PARTITIONS + 1 })).toBe(false)
    expect((await checkTopic(kafka, { topic, partitions: PARTITIONS })).ends).toHaveLength(PARTITIONS)
  })
})

describe('checking a topic', () => {
  it.each([
    ['retention.ms', '604800000', 'set retention.ms to -1 (it is 604800000)'],
    ['retention.bytes', '1073741824', 'set retention.bytes to -1 (it is 1073741824)'],
    ['cleanup.policy', 'compact', 'set cleanup.policy to delete (it is compact)'],
    ['cleanup.policy', 'compact,delete', 'set cleanup.policy to delete (it is compact,delete)'],
  ])('rejects %s=%s, which would lose events, and names the fix', async (name, value, fix) => {
    const topic = await openTopic()
    await set(topic, name, value)
    await expect(check(topic)).rejects.toThrow(PreconditionError)
    await expect(check(topic)).rejects.toThrow(`topic ${topic.topic} would lose events: ${fix}`)
  })

  it.each(['producer', 'lz4'])('warns when batches are stored with the compression %s', async (type) => {
    const topic = await openTopic()
    await set(topic, 'compression.type', type)
    expect((await check(topic)).warnings.at(-1)).toMatch(
      new RegExp(`compression\\.type is ${type}: .*set it to uncompressed`),
    )
  })

  it.each([
    [
      'topic',
      undefined,
      /create it with 3 partitions, cleanup\.policy=delete, retention\.ms=-1, retention\.bytes=-1, or let/,
    ],
    ['table', TABLE, /does not exist: create it with 3 partitions, cleanup\.policy=compact/],
  ])('rejects a missing %s and says how to create it', async (_what, kind, creation) => {
    const { kafka, topic: other } = await openTopic()
    const topic = { topic: `plants-${randomUUID()}`, partitions: PARTITIONS }
    await expect(checkTopic(kafka, topic, kind)).rejects.toThrow(PreconditionError)
    await expect(checkTopic(kafka, topic, kind)).rejects.toThrow(creation)
    const topics = await withAdmin(kafka, (admin) => admin.listTopics())
    expect([other, topic.topic].map((name) => topics.includes(name))).toEqual([true, false])
  })

  it('rejects a topic with more partitions than before', async () => {
    const topic = await openTopic()
    await setPartitions(topic, PARTITIONS + 1)
    await expect(check(topic)).rejects.toThrow(PreconditionError)
    await expect(check(topic)).rejects.toThrow(/has 4 partitions, but PLANTS_PARTITIONS is 3: set it to/)
    await expect(checkTopic(topic.kafka, topic, TABLE)).rejects.toThrow(
      /is 3: stop the projectors, delete the topic of/,
    )
  })

  it('rejects a topic that has lost its first events', async () => {
    const topic = await openTopic()
    const record = newEvent(1n, PARTITIONS)
    await appendTo(topic, [record, record])
    await deleteRecords(topic, { partition: record.partition, offset: 1 as Offset })
    const gone = `partition ${record.partition} of ${topic.topic} starts at offset 1: its first events are gone`
    const failure = { name: 'PreconditionError', fault: 'topic-truncated', message: expect.stringContaining(gone) }
    await expect(check(topic)).rejects.toMatchObject(failure)
    await expect(readEnds(topic.kafka, topic.topic)).rejects.toMatchObject(failure)
  })
})
