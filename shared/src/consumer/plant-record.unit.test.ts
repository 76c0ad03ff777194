import { expect, it } from 'vitest'
import { newEvent } from '../../../tests/support/new-events.ts'
import { FIRST } from '../plant/position.ts'
import { eventOf, plantRecordReader } from './plant-record.ts'

it.each([-(2 ** 63), 2 ** 63])('an event has a valid time, also with the timestamp %s of a record', (timestampMs) => {
  const { partition, ...stored } = newEvent(1n, 1)
  const record = plantRecordReader(1)({ ...stored, offset: FIRST, timestampMs }, partition)
  expect(eventOf(record, partition)?.time.getTime()).toBe(Math.sign(timestampMs) * 8.64e15)
})
