import { randomUUID } from 'node:crypto'
import { expect, inject, it } from 'vitest'
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
import { withAdmin } from './connection.ts'
import { checkTopic, createTopic, LOG, readEnds, TABLE } from './topic.ts'

const PARTITIONS = 3

const openTopic = () => createTestTopic(inject('kafkaBrokers'), PARTITIONS)
const check = ({ kafka, ...settings }: TestTopic) => checkTopic(kafka, settings)

const KEPT = { 'retention.ms': '-1', 'retention.bytes': '-1', 'cleanup.policy': 'delete' }
const set = (topic: TestTopic, name: string, value: string) => setTopicConfig(topic, { ...KEPT, [name]: value })

it('a created topic is empty, passes the check, has warnings where production needs more, and is not created again', async () => {
  const topic = await openTopic()
  const { ends, warnings } = await check(topic)
  expect(ends).toEqual([0, 0, 0])
  expect(warnings).toEqual([
    expect.stringMatching(/it was created with 1 replica, .*; use 3 in production/),
    expect.stringMatching(/min\.insync\.replicas is 1: set it to 2 in production/),
  ])
  expect(await createTopic(topic.kafka, { ...topic, partitions: PARTITIONS + 1 })).toBe(false)
  expect((await check(topic)).ends).toHaveLength(PARTITIONS)
})

it('a topic that would lose events is rejected, with the fix', async () => {
  const topic = await openTopic()
  for (const [name, value, kept] of [
    ['retention.ms', '604800000', '-1'],
    ['retention.bytes', '1073741824', '-1'],
    ['cleanup.policy', 'compact,delete', 'delete'],
  ] as const) {
    await set(topic, name, value)
    const message = expect.stringContaining(`would lose events: set ${name} to ${kept} (it is ${value})`)
    await expect(check(topic)).rejects.toMatchObject({ name: 'PreconditionError', message })
  }
})

it('batches that are stored with a compression are a warning', async () => {
  const topic = await openTopic()
  await set(topic, 'compression.type', 'producer')
  expect((await check(topic)).warnings.at(-1)).toMatch(/compression\.type is producer: .*set it to uncompressed/)
})

it.each([
  ['topic', LOG, /create it with 3 partitions, cleanup\.policy=delete, retention\.ms=-1, retention\.bytes=-1, or let/],
  ['table', TABLE, /does not exist: create it with 3 partitions, cleanup\.policy=compact/],
])('a missing %s is rejected, and not created by the check', async (_what, kind, message) => {
  const { kafka } = await openTopic()
  const topic = { topic: `plants-${randomUUID()}`, partitions: PARTITIONS }
  const missing = { name: 'PreconditionError', message: expect.stringMatching(message) }
  await expect(checkTopic(kafka, topic, kind)).rejects.toMatchObject(missing)
  expect(await withAdmin(kafka, (admin) => admin.listTopics())).not.toContain(topic.topic)
})

it('a topic with more partitions than before is rejected', async () => {
  const topic = await openTopic()
  await setPartitions(topic, PARTITIONS + 1)
  const message = expect.stringMatching(/has 4 partitions, but PLANTS_PARTITIONS is 3: set it to/)
  await expect(check(topic)).rejects.toMatchObject({ name: 'PreconditionError', message })
  await expect(checkTopic(topic.kafka, topic, TABLE)).rejects.toThrow(/is 3: stop the projectors, delete the topic of/)
})

it('a topic that has lost its first events is rejected', async () => {
  const topic = await openTopic()
  const record = newEvent(1n, PARTITIONS)
  await appendTo(topic, [record, record])
  await deleteRecords(topic, { partition: record.partition, offset: 1 as Offset })
  const gone = `partition ${record.partition} of ${topic.topic} starts at offset 1: its first events are gone`
  const failure = { name: 'PreconditionError', fault: 'topic-truncated', message: expect.stringContaining(gone) }
  await expect(check(topic)).rejects.toMatchObject(failure)
  await expect(readEnds(topic.kafka, topic.topic)).rejects.toMatchObject(failure)
})
