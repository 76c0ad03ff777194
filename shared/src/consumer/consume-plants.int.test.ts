import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { consumeInto, eventually, newGroup } from '../../../tests/support/consumed-plants.ts'
import { newPlant } from '../../../tests/support/generated-plants.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import type { EventId } from '../plant/event-id.ts'
import { type NewRecord, plantCreated } from '../plant/plant-created.ts'

const eventIdsOf = (records: readonly NewRecord[]) =>
  records.map(({ headers }) => String(headers.ce_id)).sort()
const newEventId = () => randomUUID() as EventId

describe('a consumer of plants', () => {
  it('is given each plant once, in log order, and no claim that came too late', async () => {
    const topic = await openTopic(3)
    const first = await topic.append(50)
    const repeated = first.slice(10, 20)
    const voids = Array.from({ length: 50 }, (_, index) =>
      plantCreated(newPlant(BigInt(index + 1)), newEventId(), topic.partitions),
    )
    await topic.appendRecords([...repeated, ...voids])
    const consumer = await consumeInto(topic.topic)
    const later = await topic.append(20)
    await eventually(() => expect(consumer.events).toHaveLength(70))
    await eventually(() => expect(consumer.lag()).toBe(0))
    expect(consumer.events.map(({ eventId }) => eventId).sort()).toEqual(eventIdsOf([...first, ...later]))
    for (const partition of [0, 1, 2]) {
      const offsets = consumer.events
        .filter((event) => event.partition === partition)
        .map(({ offset }) => offset)
      expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
    }
    expect(consumer.problems()).toEqual([])
  })

  it('goes on where its group stood, with first claims that know nothing yet', async () => {
    const topic = await openTopic(2)
    await topic.append(30)
    const groupId = newGroup()
    const first = await consumeInto(topic.topic, { groupId })
    await eventually(() => expect(first.events).toHaveLength(30))
    await first.stop()
    await first.ended

    const voids = Array.from({ length: 30 }, (_, index) =>
      plantCreated(newPlant(BigInt(index + 1)), newEventId(), topic.partitions),
    )
    await topic.appendRecords(voids)
    const later = await topic.append(5)
    const second = await consumeInto(topic.topic, { groupId })
    await eventually(() => expect(second.lag()).toBe(0))
    expect(second.events.map(({ eventId }) => eventId).sort()).toEqual(eventIdsOf(later))
  })
})
