import { expect, it } from 'vitest'
import { consumeInto, newGroup } from '../../../tests/support/consumed-plants.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { commitGroupOffsets, readGroupOffsets } from '../event-log/groups.ts'
import { readEnds } from '../event-log/topic.ts'
import type { NewRecord } from '../plant/plant-created.ts'
import type { Offset, Partition } from '../plant/position.ts'
import type { ConsumeOptions } from './options.ts'

const idsOf = (records: readonly NewRecord[]) => records.map(({ key }) => String(key)).sort()

/** Events that a consumer has received when it is at the end of the log. */
async function consumed(topic: string, options: Partial<ConsumeOptions>) {
  const consumer = await consumeInto(topic, options)
  await eventually(() => expect(consumer.lag()).toBe(0))
  await consumer.stop()
  return { ids: consumer.events.map(({ id }) => String(id)).sort(), events: consumer.events }
}

it('a group without a position starts at the end, and misses nothing between two starts', async () => {
  const topic = await openTopic(2)
  await topic.append(20)
  const options = { groupId: newGroup(), from: 'end' } as const
  expect((await consumed(topic.topic, options)).ids).toEqual([])
  const between = await topic.append(20)
  expect((await consumed(topic.topic, options)).ids).toEqual(idsOf(between))
})

it('a group without a position starts at a time, or at positions of the log', async () => {
  const topic = await openTopic(2)
  await topic.append(20)
  const { ends } = await readEnds(topic.kafka, topic.topic)
  const later = await topic.append(20)
  const since = await consumed(topic.topic, { from: { positions: new Map(ends.entries()) } })
  expect(since.ids).toEqual(idsOf(later))

  const time = new Date(Math.min(...since.events.map((event) => event.time.getTime())))
  const timed = await consumed(topic.topic, { from: { time } })
  expect(timed.ids).toEqual(expect.arrayContaining(idsOf(later)))
  expect(timed.events.every((event) => event.time >= time)).toBe(true)

  for (const next of [[0], [0, 41], [0, 0, 0]]) {
    const positions = new Map(next.entries())
    await expect(consumeInto(topic.topic, { from: { positions } })).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining('from.positions must contain the next offset of each of the 2 partitions'),
    })
  }
})

it('the committed position is the next offset with the event id before it; an offset without an event id is accepted', async () => {
  const { kafka, topic, append } = await openTopic(1)
  const [, , third] = await append(4)
  const groupId = newGroup()
  await commitGroupOffsets(kafka, groupId, topic, [{ partition: 0 as Partition, next: 2 as Offset, metadata: '{' }])
  const consumer = await consumeInto(topic, {
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
  expect(await readGroupOffsets(kafka, groupId, topic)).toEqual(
    new Map([[0, { next: 3, metadata: JSON.stringify({ partitions: 1, eventId }) }]]),
  )
})
