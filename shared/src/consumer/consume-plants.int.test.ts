import { describe, expect, inject, it, vi } from 'vitest'
import { appendUndecodable, keepCompression } from '../../../tests/support/compressed-records.ts'
import { consumeInto } from '../../../tests/support/consumed-plants.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { MAX_INT64, MIN_INT64, newPlant } from '../../../tests/support/generated-plants.ts'
import { newEvent, newEventId } from '../../../tests/support/new-events.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { type NewRecord, plantCreated, type Traceparent } from '../plant/plant-created.ts'
import type { Partition } from '../plant/position.ts'
import { parseTraceparent } from '../tracing/traceparent.ts'
import type { ParkedRecord } from './plant-record.ts'
import { replayPlants } from './replay-plants.ts'

const eventIdsOf = (records: readonly NewRecord[]) => records.map(({ headers }) => String(headers.ce_id)).sort()

it('a consumer waits at a batch that cannot be decoded, says so, and receives the plants of other partitions', async () => {
  const topic = await openTopic(2)
  await keepCompression(topic)
  await appendUndecodable(topic.topic, 0 as Partition)
  const consumer = await consumeInto(topic.topic)
  const others = (await topic.append(20)).filter(({ partition }) => partition === 1)
  await eventually(() => expect(consumer.events.map(({ eventId }) => eventId).sort()).toEqual(eventIdsOf(others)))
  await eventually(() =>
    expect(consumer.problems()).toEqual([expect.stringMatching(/^partition 0 cannot be read from offset 0 on/)]),
  )
  const replay = replayPlants({
    ...{ brokers: inject('kafkaBrokers').split(','), topic: topic.topic, log: quietLog },
    onPlantCreated() {},
  })
  await expect(replay).rejects.toMatchObject({ name: 'PlantConsumerError', code: 'undecodable-batch' })
})

it('an event has every field of its record', async () => {
  const topic = await openTopic(1)
  const traceparent = parseTraceparent('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01') as Traceparent
  const [tagged, plain] = [newEventId(), newEventId()]
  const fern = newPlant(MIN_INT64, { name: 'fern', tag: 'indoor' })
  const oak = newPlant(MAX_INT64, { name: 'oak' })
  await topic.appendRecords([plantCreated(fern, tagged, 1, { traceparent }), plantCreated(oak, plain, 1)])
  const consumer = await consumeInto(topic.topic)
  await eventually(() => expect(consumer.events).toHaveLength(2))
  const time = expect.any(Date)
  expect(consumer.events).toEqual([
    { ...fern, eventId: tagged, time, partition: 0, offset: 0, traceparent },
    { ...oak, eventId: plain, time, partition: 0, offset: 1 },
  ])
})

describe('a foreign or unreadable record', () => {
  const badly = (record: NewRecord): NewRecord => ({ ...record, value: Buffer.from('no plant') })
  const foreign: NewRecord = {
    partition: 0 as Partition,
    key: Buffer.from('x'),
    value: Buffer.from('y'),
    headers: {},
  }

  it('is delivered as parked in log order; an unreadable claim keeps its id', async () => {
    const topic = await openTopic(1)
    const unreadable = newEventId()
    await topic.appendRecords([
      newEvent(1n, 1),
      foreign,
      badly(plantCreated(newPlant(2n), unreadable, 1)),
      newEvent(2n, 1),
      newEvent(3n, 1),
    ])
    const parked: ParkedRecord[] = []
    const handled: string[] = []
    let failures = 2
    const consumer = await consumeInto(topic.topic, {
      ...{ firstRetryMs: 5, longestRetryMs: 5 },
      onPlantCreated: ({ id }) => void handled.push(`plant ${id}`),
      onParked(record) {
        if (failures-- > 0) throw new Error('not now')
        parked.push(record)
        handled.push(record.reason)
      },
    })
    await eventually(() => expect(consumer.lag()).toBe(0))
    expect(handled).toEqual(['plant 1', 'otherType', 'unreadablePayload', 'plant 3'])
    expect(parked).toMatchObject([
      { offset: 1, key: foreign.key, value: foreign.value },
      { offset: 2, id: 2n, eventId: unreadable, value: Buffer.from('no plant') },
    ])
    expect(parked[0]).not.toHaveProperty('id')
  })

  it('is logged, one line per fetch, without onParked', async () => {
    const topic = await openTopic(1)
    await topic.appendRecords([foreign, foreign, badly(newEvent(2n, 1))])
    const warn = vi.fn()
    const consumer = await consumeInto(topic.topic, { log: { ...quietLog, warn } })
    await eventually(() => expect(consumer.lag()).toBe(0))
    expect(warn.mock.calls.filter(([details]) => 'parked' in details)).toEqual([
      [
        { partition: 0, offset: 0, parked: 3, unreadable: 1 },
        expect.stringContaining('the first one: its ce_type header is not PlantCreated'),
      ],
    ])
  })
})
