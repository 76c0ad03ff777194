import { describe, expect, it } from 'vitest'
import { consumeInto, newGroup } from '../../../tests/support/consumed-plants.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { withAdmin } from '../event-log/connection.ts'
import { readGroupOffsets } from '../event-log/groups.ts'
import { readEnds } from '../event-log/topic.ts'
import type { NewRecord } from '../plant/plant-created.ts'

const idsOf = (records: readonly NewRecord[]) => records.map(({ key }) => String(key)).sort()

async function idsConsumed(consumer: Awaited<ReturnType<typeof consumeInto>>): Promise<string[]> {
  await eventually(() => expect(consumer.lag()).toBe(0))
  return consumer.events.map(({ id }) => String(id)).sort()
}

describe('a group without a position', () => {
  it('starts at the end, and misses nothing between two starts', async () => {
    const topic = await openTopic(2)
    await topic.append(20)
    const groupId = newGroup()
    const first = await consumeInto(topic.topic, { groupId, from: 'end' })
    expect(await idsConsumed(first)).toEqual([])
    await first.stop()
    const between = await topic.append(20)
    const second = await consumeInto(topic.topic, { groupId, from: 'end' })
    expect(await idsConsumed(second)).toEqual(idsOf(between))
  })

  it('starts at a time, or at positions', async () => {
    const topic = await openTopic(2)
    await topic.append(20)
    const { ends } = await readEnds(topic.kafka, topic.topic)
    const positions = new Map(ends.entries())
    const later = await topic.append(20)
    const since = await consumeInto(topic.topic, { from: { positions } })
    expect(await idsConsumed(since)).toEqual(idsOf(later))

    const time = new Date(Math.min(...since.events.map((event) => event.time.getTime())))
    const timed = await consumeInto(topic.topic, { from: { time } })
    expect(await idsConsumed(timed)).toEqual(expect.arrayContaining(idsOf(later)))
    expect(timed.events.every((event) => event.time >= time)).toBe(true)
  })

  it('rejects positions outside the log', async () => {
    const topic = await openTopic(2)
    for (const next of [[0], [0, 1], [0, 0, 0]]) {
      const positions = new Map(next.entries())
      await expect(consumeInto(topic.topic, { from: { positions } })).rejects.toMatchObject({
        code: 'invalid-options',
        message: expect.stringContaining('from.positions must contain the next offset of each of the 2 partitions'),
      })
    }
  })
})

it('the committed position is the next offset with the event id before it; an offset without an event id is accepted', async () => {
  const topic = await openTopic(1)
  const [, , third] = await topic.append(4)
  const groupId = newGroup()
  const offsets = { groupId, topic: topic.topic, partitions: [{ partition: 0, offset: '2' }] }
  await withAdmin(topic.kafka, (admin) => admin.setOffsets(offsets))
  const consumer = await consumeInto(topic.topic, {
    groupId,
    onPlantCreated({ id }) {
      if (id === 4n) throw new Error('not this one')
    },
  })
  const eventId = String(third?.headers.ce_id)
  await eventually(() => expect(consumer.positions()).toEqual(new Map([[0, 3]])))
  const problem = /^partition 0: .*the handler failed at offset 3, attempt \d+: not this one/
  await eventually(() => expect(consumer.problems()).toEqual([expect.stringMatching(problem)]))
  expect(consumer.lag()).toBe(1)
  await consumer.stop()
  expect(await readGroupOffsets(topic.kafka, groupId, topic.topic)).toEqual(
    new Map([[0, { next: 3, metadata: JSON.stringify({ partitions: 1, eventId }) }]]),
  )
})
