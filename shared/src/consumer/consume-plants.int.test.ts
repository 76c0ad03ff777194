import { expect, inject, it, vi } from 'vitest'
import { appendUndecodable, keepCompression } from '../../../tests/support/compressed-records.ts'
import { consumeInto } from '../../../tests/support/consumed-plants.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { MIN_INT64, newPlant } from '../../../tests/support/generated-plants.ts'
import { newEvent, newEventId } from '../../../tests/support/new-events.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { quietLog } from '../../../tests/support/quiet-log.ts'
import { type NewRecord, plantCreated, type Traceparent } from '../plant/plant-created.ts'
import { FIRST, type Partition } from '../plant/position.ts'
import { parseTraceparent } from '../tracing/traceparent.ts'
import { eventOf, type ParkedRecord, plantRecordReader } from './plant-record.ts'
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

it.each([
  [1_795_281_883_402, 1_795_281_883_402],
  [-(2 ** 63), -8.64e15],
  [2 ** 63, 8.64e15],
])('an event has every field of its record, and a valid time with the timestamp %s', (timestampMs, timeMs) => {
  const traceparent = parseTraceparent('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01') as Traceparent
  const [plant, eventId] = [newPlant(MIN_INT64, { tag: 'indoor' }), newEventId()]
  const { partition, ...stored } = plantCreated(plant, eventId, 1, { traceparent })
  const record = plantRecordReader(1)({ ...stored, offset: FIRST, timestampMs }, partition)
  const event = { ...plant, eventId, time: new Date(timeMs), partition, offset: FIRST, traceparent }
  expect(eventOf(record, partition)).toEqual(event)
})

it('parked records are delivered in log order, or logged in one line per fetch; an unreadable claim keeps its id', async () => {
  const topic = await openTopic(1)
  const value = Buffer.from('no plant')
  const foreign: NewRecord = { partition: 0 as Partition, key: Buffer.from('x'), value, headers: {} }
  const unreadable = { ...newEvent(2n, 1), value }
  await topic.appendRecords([newEvent(1n, 1), foreign, unreadable, newEvent(2n, 1), newEvent(3n, 1)])
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
    { offset: 1, key: foreign.key, value },
    { offset: 2, id: 2n, eventId: String(unreadable.headers.ce_id), value },
  ])
  expect(parked[0]).not.toHaveProperty('id')

  const warn = vi.fn()
  const without = await consumeInto(topic.topic, { log: { ...quietLog, warn } })
  await eventually(() => expect(without.lag()).toBe(0))
  const details = { partition: 0, offset: 1, parked: 2, unreadable: 1 }
  const text = expect.stringContaining('the first one: its ce_type header is not PlantCreated')
  expect(warn.mock.calls.filter(([of]) => 'parked' in of)).toEqual([[details, text]])
})
