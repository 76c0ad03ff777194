import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventIds, newPlant, newPlants, plantIds } from '../../../tests/support/generated-plants.ts'
import type { EventId } from './event-id.ts'
import { PLANT_EXAMPLES, type PlantId, plantOf, textsOf as textsOfPlant } from './plant.ts'
import { eventHeaders, PARKED, plantCreated, readRecord, type Traceparent } from './plant-created.ts'
import type { Offset, Partition } from './position.ts'

const PARTITIONS = 12
const OFFSET = 7 as Offset
const EVENT_ID = '0b5a1ae2-7d4b-4e6f-8a3c-1f2e3d4c5b6a' as EventId

describe('an event that creates a plant', () => {
  it('reads as it was written, for any plant', () => {
    fc.assert(
      fc.property(newPlants, eventIds, fc.integer({ min: 1, max: 100 }), (plant, eventId, partitions) => {
        const { partition, ...record } = plantCreated(plant, eventId, partitions)
        expect(readRecord({ offset: OFFSET, ...record }, partition, partitions)).toEqual({
          offset: OFFSET,
          claim: { offset: OFFSET, id: plant.id, eventId, plant: plantOf(plant) },
        })
      }),
    )
  })

  it('is a CloudEvent 1.0 in binary mode, with the source of its store, and its payload has the id as a text', () => {
    const plant = { id: -7n as PlantId, ...PLANT_EXAMPLES.bare }
    const sharedHeaders = eventHeaders('https://plants.example/eu')
    const { headers, value } = plantCreated(plant, EVENT_ID, PARTITIONS, { sharedHeaders, timeMs: 1_795_281_883_402 })
    expect(textsOf(headers)).toEqual({
      ce_specversion: '1.0',
      ce_source: 'https://plants.example/eu',
      ce_type: 'PlantCreated',
      ce_id: EVENT_ID,
      ce_time: '2026-11-21T17:24:43.402Z',
      'content-type': 'application/json; version=1',
    })
    expect(value.toString()).toBe(JSON.stringify({ id: '-7', ...textsOfPlant(PLANT_EXAMPLES.bare) }))
    expect(textsOf(plantCreated(plant, EVENT_ID, PARTITIONS).headers).ce_source).toBe('/plants')
  })

  it('has the time at which it was made, in RFC 3339, also next to events of the same and of other times', () => {
    const times = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) })
    fc.assert(
      fc.property(fc.array(times, { minLength: 1 }), (made) => {
        const [first = 0] = made
        for (const timeMs of [...made, first, first, first + 1, first]) {
          const { ce_time } = textsOf(plantCreated(newPlant(1n), EVENT_ID, PARTITIONS, { timeMs }).headers)
          expect(ce_time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
          expect(Date.parse(ce_time as string)).toBe(timeMs)
        }
      }),
    )
  })

  it('has time and trace as two more headers, and reads as it would without', () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' as Traceparent
    fc.assert(
      fc.property(newPlants, eventIds, (plant, eventId) => {
        const bare = plantCreated(plant, eventId, PARTITIONS)
        const more = plantCreated(plant, eventId, PARTITIONS, { timeMs: 0, traceparent })
        const ce_time = Buffer.from('1970-01-01T00:00:00.000Z')
        expect(more).toEqual({ ...bare, headers: { ...bare.headers, ce_time, traceparent: Buffer.from(traceparent) } })
        const [first, second] = [bare, more].map(({ partition, ...record }) =>
          readRecord({ offset: OFFSET, ...record }, partition, PARTITIONS),
        )
        expect(second).toEqual(first)
      }),
    )
  })
})

// The corpus has a record for each other reason to park one, and for all that a payload may contain.
it('a record in another partition than its key is parked and does not claim an id', () => {
  fc.assert(
    fc.property(plantIds, eventIds, fc.nat(PARTITIONS - 1), (id, eventId, elsewhere) => {
      const { partition, ...record } = plantCreated(newPlant(id, { name: 'n' }), eventId, PARTITIONS)
      fc.pre(elsewhere !== partition)
      const found = readRecord({ offset: OFFSET, ...record }, elsewhere as Partition, PARTITIONS)
      expect(found).toEqual({ offset: OFFSET, parked: PARKED.wrongPartition })
    }),
  )
})

describe('for any record', () => {
  const bytes = fc.option(fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)))
  const headerValue = fc.oneof(
    bytes,
    fc.array(
      fc.string().map((text) => Buffer.from(text)),
      { maxLength: 2 },
    ),
  )

  it('the claim never depends on the payload or the version', () => {
    fc.assert(
      fc.property(newPlants, eventIds, bytes, headerValue, (plant, eventId, value, version) => {
        const { partition, ...record } = plantCreated(plant, eventId, PARTITIONS)
        const headers = { ...record.headers, 'content-type': version }
        for (const changed of [{ value }, { headers }, { value, headers }]) {
          const { claim } = readRecord({ offset: OFFSET, ...record, ...changed }, partition, PARTITIONS)
          expect(claim).toMatchObject({ offset: OFFSET, id: plant.id, eventId })
        }
      }),
    )
  })
})

function textsOf(headers: Record<string, Buffer>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, bytes]) => [name, bytes.toString()]))
}
