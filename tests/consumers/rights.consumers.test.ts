import { beforeAll, describe, expect, it } from 'vitest'
import { consumeInto, eventually, newGroup } from '../support/consumed-plants.ts'
import { openTopic } from '../support/open-topic.ts'
import { PASSWORD, startSecuredKafka } from '../support/secured-kafka.ts'

const USER = 'consumer'
const GROUP = newGroup()

const as = (username: string, password = PASSWORD) => ({
  sasl: { mechanism: 'plain' as const, username, password },
  connectWithinMs: 10_000,
})

describe('a Kafka that asks who is there', () => {
  let kafka: Awaited<ReturnType<typeof startSecuredKafka>>
  beforeAll(async () => {
    kafka = await startSecuredKafka({ users: [USER] })
    return () => kafka.stop({ graceMs: 1_000 })
  })

  it('is consumed with Read on the topic and on the group, and nothing else', async () => {
    const topic = await openTopic(2, kafka.brokers)
    const literal = { pattern: 'literal' } as const
    await kafka.grant(USER, [
      { ...literal, resource: 'topic', name: topic.topic, operations: ['Read'] },
      { ...literal, resource: 'group', name: GROUP, operations: ['Read'] },
    ])
    await topic.append(20)
    const given = { brokers: [kafka.sasl], groupId: GROUP }
    const consumer = await consumeInto(topic.topic, { ...given, ...as(USER) })
    await eventually(() => expect(consumer.events).toHaveLength(20))
    await consumer.stop()
    await topic.append(5)
    const next = await consumeInto(topic.topic, { ...given, ...as(USER) })
    await eventually(() => expect(next.events).toHaveLength(5))

    await expect(consumeInto(topic.topic, { ...given, ...as(USER, 'wrong') })).rejects.toMatchObject({
      code: 'not-authorized',
      message: expect.stringContaining('Kafka refuses'),
    })
    const group = newGroup()
    await expect(consumeInto(topic.topic, { ...given, ...as(USER), groupId: group })).rejects.toMatchObject({
      code: 'not-authorized',
      message: expect.stringContaining(`Kafka refuses this user Read on group ${group}`),
    })
    const other = await openTopic(1, kafka.brokers)
    await expect(consumeInto(other.topic, { ...given, ...as(USER) })).rejects.toMatchObject({
      code: 'not-authorized',
    })
  })
})
